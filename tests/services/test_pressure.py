"""How much may wait at once."""

import pytest

from memsrv.errors import Busy
from memsrv.services.pressure import Pressure


def test_one_more_than_may_wait_is_told_to_come_back():
    pressure = Pressure(2, "writes")
    with pressure.turn(), pressure.turn(), pytest.raises(Busy, match="2 writes wait already"), pressure.turn():
        pass
    with pressure.turn():
        pass


def test_a_turn_that_fails_is_given_back():
    pressure = Pressure(1, "writes")
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), pressure.turn():
            raise ZeroDivisionError
