"""A summarizer is run as a compaction would run it."""

from hypothesis import given
from hypothesis import strategies as st

from memsrv.core.summary.scoring import Dialogue, Expectation, Utterance
from memsrv.core.summary.summary import Heading, Language, Line, Summary, Task, rendered
from memsrv.services.evaluation import evaluated, newest, parts, sources, summarized, written_in


def dialogue(*said: str, language: str = "en") -> Dialogue:
    """`dialogue("u:hello", "a:hi")`."""
    roles = {"u": "user", "a": "assistant"}
    messages = tuple(Utterance(roles[text[0]], text[2:]) for text in said)
    kept = (Expectation(says="", all=(("tea",),)),)
    return Dialogue(
        id="00-test",
        language=language,
        topic="code",
        traits=(),
        messages=messages,
        decisions=kept,
        exclusions=(),
        forbidden=(),
    )


def words(text: str) -> int:
    return len(text.split())


class FirstSentences:
    """Keeps the summary before and the first sentence of each message; remembers what it was asked."""

    def __init__(self):
        self.tasks: list[Task] = []

    async def __call__(self, task: Task) -> Summary:
        self.tasks.append(task)
        lines = task.previous.lines if task.previous else ()
        new = (Line(Heading.FACTS, said.text.split(".")[0], said.position) for said in task.said)
        return Summary((*lines, *new), task.language)


TALK = dialogue("u:tea. please", "a:yes. sure", "u:milk", "a:no", "u:bye", "a:bye")


async def test_a_talk_in_one_fold_is_one_task_without_a_summary_before():
    summarize = FirstSentences()
    summary = await summarized(TALK, summarize, max_tokens=50, folds=1)
    assert [task.previous for task in summarize.tasks] == [None]
    assert [line.text for line in summary.lines] == ["tea", "yes", "milk", "no", "bye", "bye"]


async def test_each_fold_gets_the_summary_before_and_only_what_is_new():
    summarize = FirstSentences()
    summary = await summarized(TALK, summarize, max_tokens=50, folds=3)
    assert [[said.position for said in task.said] for task in summarize.tasks] == [[1, 2], [3, 4], [5, 6]]
    assert [len(task.previous.lines) if task.previous else 0 for task in summarize.tasks] == [0, 2, 4]
    assert {task.max_tokens for task in summarize.tasks} == {50}
    assert len(summary.lines) == 6


async def test_scores_come_in_the_order_of_the_dialogues():
    talks = [TALK, dialogue("u:coffee")]
    scores = [score async for score in evaluated(talks, FirstSentences(), max_tokens=50, folds=1, count=words)]
    assert [score.decisions[0].line for score in scores] == ["tea", None]
    assert scores[0].talk_tokens == 8


async def test_a_name_speaks_and_a_role_does_where_there_is_none():
    said = Dialogue(**{name: getattr(TALK, name) for name in Dialogue.__slots__} | {"messages": (Utterance("user", "x", "Ann"),)})
    assert sources(said)[0].speaker == "Ann"
    assert sources(TALK)[0].speaker == "user"


async def test_messages_follow_each_other_in_time():
    times = [source.sent_at for source in sources(TALK)]
    assert times == sorted(set(times))


@given(st.lists(st.sampled_from(["u:x", "a:x"]), min_size=1, max_size=40), st.integers(1, 50))
def test_parts_hold_all_in_order_and_begin_with_a_user_message(said, folds):
    source = sources(dialogue(*said))
    cut = parts(source, folds)
    assert [message for part in cut for message in part] == list(source)
    assert 1 <= len(cut) <= folds
    assert all(part[0].role == "user" for part in cut[1:])


async def test_a_summary_is_asked_for_in_the_language_of_the_talk():
    assert written_in(dialogue("u:不要", language="zh")) is Language.CHINESE
    assert written_in(dialogue("u:不要", language="en")) is Language.ENGLISH
    assert written_in(dialogue("u:用Redis做缓存，不要别的", language="mixed")) is Language.CHINESE
    assert written_in(dialogue("u:please do not use that one 不要", language="mixed")) is Language.ENGLISH


async def test_the_newest_sentences_stay_within_the_tokens():
    summary = await summarized(TALK, newest(words), max_tokens=6, folds=2)
    assert [line.text for line in summary.lines] == ["bye", "bye"]
    assert words(rendered(summary)) <= 6
