"""`memsrv eval replay`: what it reads, what it prints, how it ends."""

import json
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from xml.etree import ElementTree

import pytest

from memsrv.adapters.database import Database
from memsrv.adapters.sessions_sql import SqlSessions
from memsrv.adapters.sqlite import FILE
from memsrv.adapters.transcript_sql import SqlTranscript
from memsrv.core.replaying import Answered, Sample, figures
from memsrv.errors import CannotStart, SettingsError
from memsrv.evaluate.replay import Wanted, cells, closing, drawable, drawing, recordings_of, report
from memsrv.model import Message, Meta, Mode, NewMessage, RegionName, SessionKey
from memsrv.services.replay import Recording
from memsrv.settings import Settings
from tests.command import memsrv

AT = datetime(2026, 3, 1, 9, tzinfo=UTC)
FERRY = "The ferry to Larvik leaves at a quarter past nine from the northern pier."
TALK = (FERRY, "Noted.", *["Nice weather.", "It is."] * 6, "From which pier does the ferry leave?")


def new(place: int, text: str, role: str | None = None) -> NewMessage:
    payload = {"role": role or ("user", "assistant")[place % 2], "content": text}
    return NewMessage(f"m{place}", payload, AT + timedelta(minutes=place), None, text, ())


async def append(database: Database, tenant: str, name: str, *texts: str, role: str | None = None) -> None:
    messages = [new(place, text, role) for place, text in enumerate(texts)]
    await SqlTranscript(database).append(SessionKey(tenant, name), messages)


@pytest.fixture
async def folder(tmp_path):
    """A data folder as a server leaves it behind."""
    database = await Database.open(tmp_path)
    await append(database, "default", "ferry", *TALK)
    await append(database, "default", "events", "started", "stopped", role="assistant")
    await append(database, "red", "secret", "Hello.")
    await database.close()
    return tmp_path


def contents(folder) -> dict[str, str]:
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def wanted(*names: str, newest: int = 3, tenant: str = "default") -> Wanted:
    return Wanted(names, newest, tenant, tuple(Mode), None, None, False)


async def read(folder, *names: str, **options) -> list[Recording]:
    return await recordings_of(Settings(data_dir=folder), wanted(*names, **options))


# --- the command ----------------------------------------------------------------------------------------------------


def replayed(folder, *words):
    return memsrv("eval", "replay", "--data-dir", folder, *words)


async def test_a_session_is_measured_under_each_mode_and_drawn_and_its_folder_stays_as_it_was(folder, tmp_path_factory):
    plot, before = tmp_path_factory.mktemp("plot") / "modes.svg", contents(folder)
    done = replayed(folder, "--session", "ferry", "--every", "8", "--json", "--plot", str(plot))
    told = json.loads(done.stdout)
    assert done.stderr == "1/1 ferry\n"
    assert [(each["session"], each["messages"]) for each in told["sessions"]] == [("ferry", 15)]
    assert list(told["modes"]) == [mode.value for mode in Mode]
    recall = {mode: row["recall"] for mode, row in told["modes"].items()}
    assert (recall["full"], recall["hybrid"], recall["window"]) == (1, 1, 0)
    assert len(told["prompts"]) == len(Mode)
    assert ElementTree.parse(plot).getroot().tag.endswith("svg")
    assert contents(folder) == before


async def test_a_wrong_use_is_refused_in_one_line(folder):
    done = replayed(folder, "--session", "fery")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "memsrv: There is no session 'fery'. There is 'ferry'.\n"


# --- what is read ---------------------------------------------------------------------------------------------------


async def test_sessions_are_read_by_name_in_the_order_asked_for(folder):
    assert [recording.key.name for recording in await read(folder, "ferry")] == ["ferry"]
    (recording,) = await read(folder, "secret", tenant="red")
    assert [message.payload["content"] for message in recording.messages] == ["Hello."]


async def test_sessions_in_postgresql_are_read_too(postgresql):
    url = postgresql.database()
    database = await Database.connect(url)
    await append(database, "default", "ferry", *TALK)
    await database.close()
    (recording,) = await recordings_of(Settings(database_url=url), wanted("ferry"))
    assert [message.payload["content"] for message in recording.messages] == list(TALK)
    assert [message.position for message in recording.messages] == list(range(1, len(TALK) + 1))


async def test_the_newest_are_read_but_those_without_a_user_message(folder):
    assert [recording.key.name for recording in await read(folder, newest=2)] == ["ferry"]


async def test_a_session_that_asks_for_no_prompt_is_refused(folder):
    with pytest.raises(SettingsError, match="no user message"):
        await read(folder, "events")


async def test_a_session_of_another_tenant_is_not_there(folder):
    with pytest.raises(SettingsError, match="no session 'secret'"):
        await read(folder, "secret")
    with pytest.raises(SettingsError, match="Tenant 'blue' has no sessions"):
        await read(folder, tenant="blue")


async def test_a_folder_without_a_database_is_refused_and_not_made(tmp_path):
    with pytest.raises(SettingsError, match="there is no database"):
        await read(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()


async def test_a_file_that_is_no_database_is_refused(tmp_path):
    (tmp_path / FILE).write_bytes(b"not a database, however long it is " * 100)
    with pytest.raises(CannotStart, match="cannot be copied"):
        await read(tmp_path)


async def test_what_a_running_server_wrote_last_is_read_too(folder):
    database = await Database.open(folder)
    await append(database, "default", "late", "Just said.")
    (recording,) = await read(folder, "late")
    assert recording.messages[0].payload["content"] == "Just said."
    await append(database, "default", "later", "The server goes on.")
    assert (await SqlSessions(database).find(SessionKey("default", "later"))).last_position == 1
    await database.close()


# --- what is shown --------------------------------------------------------------------------------------------------


def sample(mode: Mode = Mode.WINDOW, **fields) -> Sample:
    regions = {RegionName.META: 100, RegionName.WINDOW: 1_100}
    usual = {"position": 1, "total_tokens": 1_234, "region_tokens": regions, "summaries": 2, "took_ms": 5.4}
    return Sample(session="ferry", mode=mode, **(usual | {"answered": Answered(4, 3, 8, 4)} | fields))


def recording(name: str = "ferry") -> Recording:
    message = Message(1, "m1", 1, {"role": "user", "content": "Hello."}, AT, AT, None, 1, True)
    return Recording(SessionKey("default", name), {}, Meta(), (), [message])


def test_a_row_has_the_figures_of_its_mode():
    (row,) = figures([sample()])
    assert cells(row) == ("window", "1,234", "100", "0", "0", "1,100", "0", "2", "75%", "50%", "5")


def test_a_row_without_anything_to_recall_has_dashes():
    (row,) = figures([sample(answered=Answered())])
    assert cells(row)[-3:-1] == ("-", "-")


def test_what_was_replayed_and_what_went_wrong_follows():
    rows = figures([sample(), sample(Mode.HYBRID, degraded=True)])
    assert list(closing([recording()], rows)) == [
        "replayed: ferry (1 message)",
        "1 prompt in each mode, going back to 4 earlier messages",
        "hybrid: 1 prompt made while something was out of reach",
    ]


def test_a_report_tells_each_session_apart_and_every_prompt():
    told = report([recording(), recording("empty")], [sample(), sample(position=3)])
    assert [(each["session"], list(each["modes"])) for each in told["sessions"]] == [("ferry", ["window"]), ("empty", [])]
    assert told["modes"]["window"]["recall"] == 0.75
    assert [prompt["position"] for prompt in told["prompts"]] == [1, 3]
    assert json.loads(json.dumps(told)) == told


def test_the_picture_has_a_bar_for_each_mode():
    picture = drawing([recording()], figures([sample(), sample(Mode.FULL)]))
    assert [mode for mode in Mode if f">{mode.value}</text>" in picture and mode is not Mode.WINDOW] == [Mode.FULL]
    assert "75%" in picture


def test_a_plot_that_could_not_be_written_is_refused_before_the_work(tmp_path):
    drawable(tmp_path / "modes.svg")
    drawable(None)
    with pytest.raises(SettingsError, match="draws SVG"):
        drawable(tmp_path / "modes.png")
    with pytest.raises(SettingsError, match="folder of --plot"):
        drawable(tmp_path / "nowhere" / "modes.svg")
