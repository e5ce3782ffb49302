"""Merkle trees: the root is that of RFC 6962, and a proof proves its own leaf in its own place alone."""

from __future__ import annotations

import hashlib

import pytest

from vcon_app.signing import merkle

LEAVES = [bytes.fromhex(text) for text in (
    "", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f",
)]  # fmt: skip
ROOTS = (
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
)
"""Test vectors of the reference implementation of RFC 6962 (certificate-transparency)."""


@pytest.mark.parametrize("count", range(1, 9))
def test_the_root_is_that_of_rfc_6962(count):
    assert merkle.root(LEAVES[:count]).hex() == ROOTS[count - 1]


def test_no_leaves_have_the_root_of_nothing():
    assert merkle.root([]) == hashlib.sha256(b"").digest()


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 9, 100])
def test_a_proof_leads_to_the_root_from_its_own_leaf_and_place_alone(count):
    leaves = [str(number).encode() for number in range(count)]
    root = merkle.root(leaves)
    for index in range(count):
        path = merkle.proof(leaves, index)
        assert merkle.root_from(leaves[index], index, count, path) == root
        assert merkle.root_from(b"other", index, count, path) != root
        assert merkle.root_from(leaves[index], index, count, [*path, root]) is None
        if path:
            assert merkle.root_from(leaves[index], index, count, path[:-1]) is None
            assert merkle.root_from(leaves[index], (index + 1) % count, count, path) != root


def test_a_node_is_not_passed_off_as_a_leaf():
    leaves = [b"a", b"b"]
    inner = hashlib.sha256(b"\0a").digest() + hashlib.sha256(b"\0b").digest()
    assert merkle.root([inner]) != merkle.root(leaves)


def test_a_place_outside_of_the_tree_proves_nothing():
    assert merkle.root_from(b"a", 3, 2, []) is None
    with pytest.raises(IndexError):
        merkle.proof([b"a"], 1)
