"""What the doctor finds of a database."""

import pytest

from memsrv.doctor import checked, database
from memsrv.settings import Settings


async def test_a_database_that_can_be_used_is_told_with_its_version(postgresql):
    found = await checked("database", Settings(database_url=postgresql.database()), database)
    assert found.good
    assert found.text.startswith("PostgreSQL ")
    assert "schema public" in found.text


@pytest.mark.parametrize("url", ["postgresql://memsrv:swordfish@127.0.0.1:1/memsrv", "postgres://memsrv:swordfish@[::1/memsrv"])
async def test_a_database_that_cannot_be_used_is_told_with_what_mends_it_and_without_its_password(url):
    found = await checked("database", Settings(database_url=url), database)
    assert not found.good
    assert "MEMSRV_DATABASE_URL" in found.text
    assert found.mend
    assert "swordfish" not in found.text + found.mend


async def test_without_a_url_it_is_sqlite():
    assert (await checked("database", Settings(), database)).text == "SQLite in the data folder"
