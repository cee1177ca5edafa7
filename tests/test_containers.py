"""What the container files say agrees with the code; no engine is needed to look."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from sqlalchemy import make_url

from memsrv.settings import Settings, variable

ROOT = Path(__file__).parent.parent
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
SERVICES = COMPOSE["services"]
OURS = [name for name, service in SERVICES.items() if service.get("build")]


def port_inside() -> str:
    return re.search(r"^EXPOSE (\d+)$", DOCKERFILE, re.MULTILINE)[1]


def copied() -> set[str]:
    return {word for line in re.findall(r"^COPY (.+) \S+$", DOCKERFILE, re.MULTILINE) for word in line.split()}


def test_all_that_a_wheel_is_built_of_is_copied_into_the_image():
    wheel = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {"pyproject.toml", PROJECT["project"]["readme"], *wheel["packages"], *wheel["force-include"]}
    assert needed <= copied()


def test_all_that_is_copied_is_there_and_not_ignored():
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    assert all((ROOT / name).exists() for name in copied())
    assert copied().isdisjoint(ignored)


def test_the_image_installs_extras_that_there_are():
    extras = re.search(r"pip install .*'\.\[(.+)\]'", DOCKERFILE)[1].split(",")
    assert "postgresql" in extras
    assert set(extras) <= PROJECT["project"]["optional-dependencies"].keys()


def test_every_setting_that_is_named_is_one():
    known = {variable(name) for name in Settings.model_fields}
    in_compose = {name for service in SERVICES.values() for name in service.get("environment", {}) if name.startswith("MEMSRV_")}
    assert in_compose | set(re.findall(r"MEMSRV_[A-Z_]+", DOCKERFILE)) <= known


def test_alone_it_needs_no_profile_and_nothing_else():
    assert [name for name, service in SERVICES.items() if not service.get("profiles")] == ["memsrv"]
    assert "depends_on" not in SERVICES["memsrv"]


def test_what_several_depend_on_comes_with_their_profile_and_tells_its_health():
    for name in SERVICES["several"]["depends_on"]:
        assert SERVICES[name]["profiles"] == SERVICES["several"]["profiles"]
        assert SERVICES[name]["healthcheck"]["test"][0] == "CMD"


@pytest.mark.parametrize("name", OURS)
def test_ports_are_published_to_loopback_and_lead_to_the_one_that_is_served(name):
    for port in SERVICES[name]["ports"]:
        address, outside, inside = port.split(":")
        assert (address, inside) == ("127.0.0.1", port_inside())
        first, _, last = outside.partition("-")
        assert int(last or first) - int(first) + 1 == SERVICES[name].get("deploy", {}).get("replicas", 1)


@pytest.mark.parametrize("name", OURS)
def test_data_stands_in_a_volume(name):
    folder = re.search(r"MEMSRV_DATA_DIR=(\S+)", DOCKERFILE)[1]
    assert [volume.split(":")[1] for volume in SERVICES[name]["volumes"]] == [folder]


def test_every_volume_is_declared():
    used = {volume.split(":")[0] for service in SERVICES.values() for volume in service["volumes"]}
    assert used == set(COMPOSE["volumes"])


def test_several_reach_the_database_and_the_index_that_are_set_up():
    several, postgres = SERVICES["several"]["environment"], SERVICES["postgres"]["environment"]
    url = make_url(several["MEMSRV_DATABASE_URL"])
    assert (url.host, url.username, url.database) == ("postgres", postgres["POSTGRES_USER"], postgres["POSTGRES_DB"])
    assert several["PGPASSWORD"] == postgres["POSTGRES_PASSWORD"]
    assert several["MEMSRV_CHROMA_URL"] == "http://chroma:8000"
    Settings(database_url=several["MEMSRV_DATABASE_URL"], chroma_url=several["MEMSRV_CHROMA_URL"])


def test_the_chroma_server_is_one_that_the_client_fits():
    version = SERVICES["chroma"]["image"].partition(":")[2]
    [wanted] = [need for need in PROJECT["project"]["dependencies"] if need.startswith("chromadb")]
    assert f">={version}," in wanted


def test_no_secret_stands_in_the_file():
    for service in SERVICES.values():
        for name, value in service.get("environment", {}).items():
            if "PASSWORD" in name or "KEY" in name:
                assert re.fullmatch(r"\$\{[A-Z_]+:-\}", value), name
