"""Versions of a file are put together as far as they are known, and no further."""

from __future__ import annotations

from sessions_app.changes.change import Change, Edit

from .build import edit, history, one, shown, write

FILE = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n"


def test_edits_of_a_file_that_was_read_are_one_diff_of_the_whole():
    made = history(edit("c", "C"), edit("C", "CC\nmore"), edit("i", ""), seen=FILE)
    net = made.diff()
    assert net.is_whole and (net.added, net.removed) == (3, 2)
    assert shown(net) == ["@ 1 2 3", " a", " b", "-c", "+CC", "+more", " d", " e", " f", " g", " h", "-i", "+", " j"]
    assert [(row.old, row.new) for row in net.hunks[0].rows][-1] == (10, 11)


def test_what_is_taken_back_is_no_change():
    assert history(edit("c", "X"), edit("X", "c"), seen=FILE).diff().hunks == ()


def test_a_created_file_is_all_new_and_its_edits_are_in_it():
    net = history(write("1\n2\n3\n", "created"), edit("2\n", "")).diff()
    assert net.is_whole and shown(net) == ["@ 1", "+1", "+3"]


def test_overwriting_a_file_keeps_what_is_the_same():
    made = history(write(FILE.replace("e", "E")), seen=FILE)
    assert shown(made.diff()) == ["@ 1", " b", " c", " d", "-e", "+E", " f", " g", " h"]


def test_what_a_file_held_before_it_was_overwritten_is_said_to_be_lost():
    made = history(write("1\n"))
    assert made.lost == [1] and shown(made.diff()) == ["@ 1", "+1"]


def test_a_patch_of_the_recorder_tells_what_was_overwritten():
    hunk = Edit("1\n2\n", "1\n3\n", line=1, whole_lines=True)
    made = history(write("1\n3\n4\n", hunks=(hunk,)))
    assert made.lost == [] and made.diff().is_whole and shown(made.diff()) == ["@ 1", " 1", "-2", "+3", " 4"]


def test_without_the_file_the_places_that_edits_showed_stand_alone():
    net = history(edit("one line", "two"), edit("elsewhere", "there")).diff()
    assert not net.is_whole
    assert shown(net) == ["@ 1", "-one line", "+two", "@ 2", "-elsewhere", "+there"]


def test_an_edit_of_what_another_one_brought_is_seen_in_the_same_place():
    net = history(edit("def total(x):\n    return x", "def total(x):\n    return x + 1"), edit("x + 1", "x + 2")).diff()
    assert shown(net) == ["@ 1 2", " def total(x):", "-    return x", "+    return x + 2"]


def test_places_that_overlap_by_their_line_numbers_are_joined():
    def hunk(line: int, old: str, new: str) -> Change:
        return Change("a", "edited", "Edit", hunks=(Edit(old, new, line=line, whole_lines=True),))

    net = history(
        hunk(10, "j\nk\nl\nm\nn\n", "j\nk\nL\nL2\nm\nn\n"), hunk(14, "m\nn\no\n", "m\nn\nO\n"),
        hunk(2, "b\nc\n", "b\n"), hunk(10, "k\nL\n", "k\nLL\n"),
    ).diff()  # fmt: skip
    assert shown(net) == [
        "@ 3", " b", "-c", "@ 1 2 4", " j", " k", "-l", "+LL", "+L2", " m", " n", "-o", "+O",
    ]  # fmt: skip
    assert [(row.mark, row.old, row.new) for row in net.hunks[1].rows][:3] == [
        (" ", 10, 9),
        (" ", 11, 10),
        ("-", 12, None),
    ]


def test_places_that_overlap_by_their_text_are_joined():
    one_, two = "first()\nsecond()\nthird()\nfourth()\n", "third()\nfourth()\nfifth()\n"
    first = edit(one_, one_.replace("second", "2nd"), whole_lines=True)
    net = history(first, edit(two, two.replace("fifth", "5th"), whole_lines=True)).diff()
    assert len(net.hunks) == 1 and net.hunks[0].versions == (1, 2)


def test_an_edit_that_does_not_fit_is_shown_apart_and_named():
    made = history(edit("never there", "new"), edit("c", "C"), seen=FILE)
    assert made.misfits == [1] and not made.diff().is_whole
    assert [hunk.is_apart for hunk in made.diff().hunks] == [False, True]


def test_every_place_is_replaced_where_the_call_says_so():
    net = history(edit("x", "y", everywhere=True), seen="x\na\nx x\n").diff()
    assert [row.text for row in net.hunks[0].rows if row.mark == "+"] == ["y", "y y"]


def test_the_nearest_of_several_places_is_taken_where_a_line_is_named():
    made = history(edit("}\n", "};\n", line=4, whole_lines=True), seen="a\n}\nb\n}\n")
    assert [(row.mark, row.old, row.text) for row in made.diff().hunks[0].rows][-2:] == [
        ("-", 4, "}"),
        ("+", None, "};"),
    ]


def test_lines_are_put_in_where_a_call_says_after_which():
    change = one("str_replace_editor", {"command": "insert", "path": "a.py", "insert_line": 2, "new_str": "new"})
    assert shown(history(change, seen="a\nb\nc\n").diff()) == ["@ 1", " a", " b", "+new", " c"]


def test_a_deleted_file_takes_its_text_with_it_where_that_is_known():
    gone = one("delete_file", {"path": "a.py"})
    assert shown(history(gone, seen="a\nb\n").diff()) == ["@ 1", "-a", "-b"]
    unknown = history(edit("x", "y"), gone)
    assert unknown.lost == [2] and shown(unknown.diff()) == ["@ 1", "-x"]


def test_what_a_shell_wrote_is_named_and_never_claimed():
    (written,) = [Change("a.py", "shell", "sed -i")]
    made = history(edit("a", "b"), written)
    assert made.unknown == [2] and shown(made.diff()) == ["@ 1", "-a", "+b"]


def test_two_versions_can_be_compared():
    made = history(edit("a", "A"), seen="a\nb\n")
    made.freeze()
    made.apply(edit("b", "B"), 2)
    assert shown(made.diff()) == ["@ 2", " A", "-b", "+B"]


def test_the_end_of_a_file_needs_no_line_break_to_be_found():
    assert shown(history(edit("b\n", ""), seen="a\nb\n").diff()) == ["@ 1", " a", "-b"]


def test_a_call_in_a_notebook_is_shown_apart():
    made = history(one("NotebookEdit", {"notebook_path": "n", "new_source": "1"}), seen="{}\n")
    assert made.unknown == [1] and [hunk.is_apart for hunk in made.diff().hunks] == [True]


def test_an_edit_over_two_known_places_makes_them_one():
    def hunk(line: int, old: str, new: str) -> Change:
        return Change("a", "edited", "Edit", hunks=(Edit(old, new, line=line, whole_lines=True),))

    made = history(
        hunk(1, "a\nb\n", "A\nb\n"), hunk(7, "g\nh\n", "g\nH\n"), hunk(2, "b\nc\nd\ne\nf\ng\n", "b\nc\nD\ne\nf\ng\n")
    )
    assert shown(made.diff()) == ["@ 1 2 3", "-a", "+A", " b", " c", "-d", "+D", " e", " f", " g", "-h", "+H"]
    odd = history(hunk(1, "a\nb\n", "A\nb\n"), hunk(2, "other\nc\n", "other\nC\n"))
    assert len(odd.diff().hunks) == 2


def test_the_whole_text_is_told_only_while_it_is_sure():
    assert history(edit("b", "B"), seen="a\nb\n").text() == "a\nB\n"
    assert history(edit("b", "B")).text() is None
    assert history(edit("x", "B"), seen="a\nb\n").text() is None
    assert history(Change("a.py", "shell", "sed -i"), seen="a\n").text() is None


def test_a_file_that_was_moved_is_as_it_was():
    moved = Change("b.py", "shell", "mv", was="a.py")
    assert history(moved, edit("b", "B"), seen="a\nb\n").unknown == []
    assert history(moved, edit("b", "B")).unknown == [1]
