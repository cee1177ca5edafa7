"""What Prometheus reads. No label holds a session, an owner or a text."""

from collections.abc import Iterable, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from memsrv.model import Prompt
from memsrv.services.relay import Exchange

SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)
PARTS = ("recall", "index", "embedder", "transcript")


class Metrics:
    """The server's counters, in a registry of their own."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._latency = Histogram(
            "memsrv_request_seconds",
            "Time to answer a request.",
            ("route", "method", "mode"),
            registry=self._registry,
            buckets=SECONDS,
        )
        self._requests = Counter("memsrv_requests", "Requests answered.", ("route", "method", "status"), registry=self._registry)
        self._messages = Counter("memsrv_messages", "Messages stored.", registry=self._registry)
        self._tokens = Counter(
            "memsrv_prompt_tokens", "Tokens given out in prompts.", ("region", "mode"), registry=self._registry
        )
        self._degraded_prompts = Counter(
            "memsrv_degraded_prompts", "Prompts that lacked a part.", ("part",), registry=self._registry
        )
        self._advice = Counter(
            "memsrv_prompt_advice", "Prompts in which a region took too much.", ("region",), registry=self._registry
        )
        self._pending = Gauge("memsrv_pending_index", "Messages that wait for their vectors.", registry=self._registry)
        self._set_aside = Gauge("memsrv_set_aside", "Messages that could not be indexed.", registry=self._registry)
        self._indexed = Gauge("memsrv_indexed_chunks", "Chunks indexed since the start.", registry=self._registry)
        self._failed = Gauge(
            "memsrv_failed_batches", "Batches that could not be indexed since the start.", registry=self._registry
        )
        self._compactions = Gauge(
            "memsrv_compactions",
            "Compactions since the start.",
            ("summarizer", "trigger", "outcome"),
            registry=self._registry,
        )
        self._findings = Gauge(
            "memsrv_summary_findings", "What the guard of summaries found since the start.", ("kind",), registry=self._registry
        )
        self._relayed = Counter(
            "memsrv_relay_requests", "Requests passed on to an upstream.", ("upstream", "outcome"), registry=self._registry
        )
        self._overhead = Histogram(
            "memsrv_relay_overhead_seconds",
            "Time until an upstream was asked.",
            ("mode",),
            registry=self._registry,
            buckets=SECONDS,
        )
        self._degraded = Gauge("memsrv_degraded", "1 while this part is down.", ("part",), registry=self._registry)

    def request(self, route: str, method: str, status: int, mode: str, took_s: float) -> None:
        self._latency.labels(route, method, mode).observe(took_s)
        self._requests.labels(route, method, str(status)).inc()

    def stored(self, messages: int) -> None:
        self._messages.inc(messages)

    def prompt(self, prompt: Prompt) -> None:
        for region in prompt.receipt.regions:
            self._tokens.labels(region.name, prompt.mode).inc(region.tokens)
        for part in prompt.receipt.degraded:
            self._degraded_prompts.labels(part).inc()
        for entry in prompt.receipt.advice:
            self._advice.labels(entry["region"]).inc()

    def relayed(self, exchange: Exchange) -> None:
        """A request that was passed on and has come to its end."""
        self._relayed.labels(exchange.upstream.name, exchange.outcome).inc()
        if exchange.place and exchange.prompt:
            self._overhead.labels(exchange.prompt.mode).observe(exchange.asked_s)
            self._messages.inc(exchange.place.fresh + exchange.answers)

    def summaries(self, compactions: Mapping[tuple[str, str, str], int], findings: Mapping[str, int]) -> None:
        """What was summarised since the start: by (summarizer, trigger, outcome), and findings by kind."""
        for labels, count in compactions.items():
            self._compactions.labels(*labels).set(count)
        for kind, count in findings.items():
            self._findings.labels(kind).set(count)

    def text(self, *, pending: int, set_aside: int, indexed: int, failed: int, degraded: Iterable[str]) -> bytes:
        """The exposition, with the state of this moment."""
        self._pending.set(pending)
        self._set_aside.set(set_aside)
        self._indexed.set(indexed)
        self._failed.set(failed)
        down = set(degraded)
        for part in sorted(down | set(PARTS)):
            self._degraded.labels(part).set(part in down)
        return generate_latest(self._registry)
