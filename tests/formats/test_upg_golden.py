"""What we make of our own sample of a product graph, kept beside it; and what we write from it."""

from vcon_app.formats import upg

from .golden import check, check_reading
from .upg.tools import SAMPLE, sessions, written


def test_a_graph_is_read_as_it_was():
    check_reading(SAMPLE, upg.read)


def test_the_first_session_of_a_graph_is_written_as_it_was():
    check(SAMPLE.with_name("kiln.upg.written"), written(*sessions(SAMPLE.read_bytes())[0]).decode())
