"""What we make of our own sample of a bare record, kept beside it."""

from vcon_app.formats import vac, vcon
from vcon_app.formats.common.head import Head

from .golden import check_reading
from .vac.tools import SAMPLE


def test_a_record_is_read_as_it_was():
    check_reading(SAMPLE, vac.read)


def test_a_record_is_claimed_by_this_format_and_not_as_a_vcon():
    head = Head(SAMPLE.read_bytes())
    assert vac.detect(head) and not vcon.detect(head)
