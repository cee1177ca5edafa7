"""How the parts are put together where several processes share them."""

import pytest

from memsrv.errors import CannotStart, DataDirLocked
from memsrv.settings import Settings
from memsrv.wiring import opened
from tests.fakes import HashingEmbedder


async def test_with_embedded_chroma_a_second_process_on_a_database_is_refused_wherever_its_folder_is(postgresql, tmp_path):
    url = postgresql.database()
    async with opened(Settings(data_dir=tmp_path / "one", database_url=url), embedder=HashingEmbedder()) as runtime:
        assert runtime.lead.held
        with pytest.raises(CannotStart, match="Another memsrv works on this database") as refusal:
            async with opened(Settings(data_dir=tmp_path / "two", database_url=url), embedder=HashingEmbedder()):
                pass
        assert "MEMSRV_CHROMA_URL" in refusal.value.hint


async def test_with_embedded_chroma_the_data_folder_is_locked_also_with_postgresql(postgresql, tmp_path):
    settings = Settings(data_dir=tmp_path, database_url=postgresql.database())
    async with opened(settings, embedder=HashingEmbedder()):
        with pytest.raises(DataDirLocked):
            async with opened(settings, embedder=HashingEmbedder()):
                pass


async def test_with_both_servers_processes_may_share_a_data_folder_and_one_of_them_leads(postgresql, tmp_path):
    settings = Settings(data_dir=tmp_path, database_url=postgresql.database(), chroma_url="http://127.0.0.1:1")
    async with (
        opened(settings, embedder=HashingEmbedder()) as one,
        opened(settings, embedder=HashingEmbedder()) as two,
    ):
        assert (one.lead.held, two.lead.held) == (True, False)
