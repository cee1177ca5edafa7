"""Every knob, in one table; the only reader of the environment.

A setting `data_dir` is the environment variable `MEMSRV_DATA_DIR`. An unknown MEMSRV_* name is refused: a knob that is
misspelt would otherwise do nothing, silently.
"""

import json
import os
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from memsrv.errors import SettingsError
from memsrv.model import Mode

PREFIX = "MEMSRV_"
SHORTEST_KEY = 16
Positive = Annotated[int, Field(ge=1)]


class Settings(BaseSettings):
    """The server's settings; each field's description is its line in the README."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="forbid", frozen=True)

    # where and how to serve
    host: str = Field("127.0.0.1", description="Address to listen on. Other than loopback needs keys, or `MEMSRV_ALLOW_OPEN`.")
    port: int = Field(8000, ge=0, le=65535, description="Port to listen on; 0 takes a free one.")
    data_dir: Path = Field(Path("data/store"), description="Folder of the databases; made if it is missing.")
    keys: Annotated[dict[str, SecretStr], NoDecode] = Field(
        default_factory=dict,
        description="Keys by tenant, `tenant=key,tenant=key`, of at least 16 characters. With none, all is tenant `default`.",
    )
    allow_open: bool = Field(False, description="Listen beyond loopback without keys. Only behind something that guards it.")
    log_format: Literal["auto", "json", "console"] = Field(
        "auto", description="Log lines: `json`, `console`, or by whether it is a terminal."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="Least level that is logged.")

    @field_validator("keys", mode="before")
    @classmethod
    def parse_keys(cls, value: object) -> object:
        """`tenant=key,tenant=key` as a mapping; each tenant has one key and each key one tenant."""
        if not isinstance(value, str):
            return value
        pairs = [
            (tenant.strip(), key.strip()) for tenant, _, key in (pair.partition("=") for pair in value.split(",") if pair.strip())
        ]
        if any(not tenant or len(key) < SHORTEST_KEY or not key.isascii() for tenant, key in pairs):
            raise ValueError(f"write it as tenant=key,tenant=key with ASCII keys of at least {SHORTEST_KEY} characters")
        if len({tenant for tenant, _ in pairs}) < len(pairs) or len({key for _, key in pairs}) < len(pairs):
            raise ValueError("each tenant needs one key of its own")
        return dict(pairs)

    # limits
    max_body_bytes: Positive = Field(32_000_000, description="Largest request body (413 above).")
    max_messages: Positive = Field(1000, le=1000, description="Most messages in one request.")
    max_waiting_writes: Positive = Field(256, description="Writes that may wait before 429 is answered.")

    # embedder
    embedder: Literal["bundled", "sentence-transformers", "openai"] = Field(
        "bundled", description="Which embedder makes the vectors."
    )
    embedder_model: str = Field("", description="Model name or path for `sentence-transformers` and `openai`.")
    embedder_url: str = Field("", description="Base URL of an OpenAI-compatible endpoint, e.g. `http://127.0.0.1:11434/v1`.")
    embedder_key: SecretStr = Field(SecretStr(""), description="Key for that endpoint.")
    embedder_dimensions: int = Field(0, ge=0, description="Dimensions to ask that endpoint for; 0 leaves it to the model.")
    embedder_query_prefix: str = Field("", description="Put before a query (the model's own prompt is used when empty).")
    embedder_passage_prefix: str = Field("", description="Put before a passage (the model's own prompt is used when empty).")
    embedder_batch: Positive = Field(32, description="Texts in one call of the embedder.")
    embedder_timeout_s: float = Field(30.0, gt=0, description="Longest wait for one answer of the endpoint.")

    # index
    chroma_url: str = Field("", description="URL of a Chroma server (`chroma run`); empty means embedded in the data folder.")
    vector_cache_mb: Positive = Field(256, description="Memory for vectors of recently searched scopes.")
    lexical_cache_mb: Positive = Field(192, description="Memory for word lists of recently searched scopes.")
    exact_search_chunks: int = Field(
        150_000, ge=0, description="Scopes up to this many chunks are searched exactly, larger ones through Chroma's index."
    )

    # prompts
    tokenizer: str = Field("o200k_base", description="Encoding that counts tokens when the model does not tell.")
    budget_tokens: Positive = Field(8192, description="Budget of a prompt when neither request, session nor model tells.")
    mode: Mode = Field(Mode.HYBRID, description="Mode of a session that has none of its own.")
    window_size: int = Field(12, ge=0, description="Messages in the window, at most.")
    recall_k: Positive = Field(50, le=1000, description="Recalled chunks in a prompt, at most.")
    recall_min_score: float = Field(0.0, ge=-1, le=1, description="Least cosine similarity of a recalled chunk.")
    max_tool_bytes: Positive = Field(
        16_384, description="A tool result longer than this is shortened in the prompt, head and tail kept."
    )
    receipts_kept: Positive = Field(50, description="Receipts kept for each session.")

    # for tests
    faults: Annotated[dict[str, str] | None, NoDecode] = Field(
        None, description="For tests only: a JSON object of faults in force; opens `PUT /_faults`."
    )

    @field_validator("faults", mode="before")
    @classmethod
    def parse_faults(cls, value: object) -> object:
        """A JSON object of texts."""
        return json.loads(value) if isinstance(value, str) else value


def load(overrides: Mapping[str, Any] | None = None) -> Settings:
    """Read the settings from `overrides` (the command line), then the environment, then the defaults.

    Raises SettingsError that names the setting that is unknown or has a value that cannot be used.
    """
    refuse_unknown(os.environ)
    try:
        return Settings(**(overrides or {}))
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        raise SettingsError(f"{variable(name)}: {first['msg'].removeprefix('Value error, ')}.") from None
    except ValueError as error:
        raise SettingsError(str(error)) from None


def refuse_unknown(environ: Mapping[str, str]) -> None:
    """Raise SettingsError for a MEMSRV_* name that is no setting, with the nearest one that is."""
    known = {variable(name) for name in Settings.model_fields}
    for name in sorted(environ):
        if name.startswith(PREFIX) and name not in known:
            near = get_close_matches(name, known, n=1)
            raise SettingsError(f"{name} is not a setting of memsrv" + (f"; did you mean {near[0]}?" if near else "."))


def variable(name: str) -> str:
    """The environment variable of a setting."""
    return PREFIX + name.upper()


def describe(settings: Settings, overrides: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """(variable, value, where it came from) for each setting; secrets are not shown."""
    rows = []
    for name in Settings.model_fields:
        source = "command line" if name in overrides else "environment" if variable(name) in os.environ else "default"
        rows.append((variable(name), shown(getattr(settings, name)), source))
    return rows


def shown(value: Any) -> str:
    """A value for people: secrets as stars."""
    if isinstance(value, SecretStr):
        return "********" if value.get_secret_value() else ""
    if isinstance(value, Mapping):
        return ",".join(f"{key}=********" for key in value)
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
