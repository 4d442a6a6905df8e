"""`MerkleTree` and `verify_proof`."""

import pickle

import numpy as np
import pytest
from treewide import Digests, MerkleTree, digest, hash_many, verify_proof


def root_of(leaves):
    """Compute a root as the documentation defines it."""
    if not leaves:
        return digest(b"")
    while len(leaves) > 1:
        pairs = [leaves[at : at + 2] for at in range(0, len(leaves), 2)]
        leaves = [digest(b"".join(pair)) if len(pair) == 2 else pair[0] for pair in pairs]
    return leaves[0]


def test_roots_and_proofs_are_those_of_the_definition():
    cases = 0
    for count in (0, 1, 2, 3, 4, 5, 7, 8, 9, 31, 33, 100, 1000, 5000):
        leaves = hash_many([b"%d" % i for i in range(count)])
        for threads in (1, 2, -1):
            tree = MerkleTree(leaves, threads=threads)
            assert tree.root == root_of(leaves.tolist()) and len(tree) == count
        for index in {0, 1, count // 2, count - 2, count - 1} & set(range(count)):
            proof = tree.proof(index)
            sure = {"root": tree.root, "leaves": count}
            assert verify_proof(leaves[index], index, proof, **sure)
            assert verify_proof(bytearray(leaves[index]), index, list(map(memoryview, proof)), **sure)
            assert not verify_proof(bytes(32), index, proof, **sure)
            assert not verify_proof(leaves[index], index + 1, proof, **sure)
            assert not verify_proof(leaves[index], index, (*proof, bytes(32)), **sure)
            assert not verify_proof(leaves[index], index, proof, root=bytes(32), leaves=count)
            if proof:
                assert not verify_proof(leaves[index], index, proof[:-1], **sure)
                assert not verify_proof(leaves[index], index, (bytes(32), *proof[1:]), **sure)
                assert not verify_proof(leaves[index], index, (proof[0][:31], *proof[1:]), **sure)
            assert not verify_proof(leaves[index][:31], index, proof, **sure)
            cases += 1
    print(f"merkle: {cases} cases")


def test_leaves_are_any_digests():
    leaves = hash_many([b"a", b"b", b"c"])
    tree = MerkleTree(leaves)
    for same in (leaves.tobytes(), np.asarray(leaves), bytearray(leaves.tobytes())):
        assert MerkleTree(same).root == tree.root
    assert repr(tree) == "<treewide.MerkleTree of 3 leaves>"
    for wrong in (b"x" * 33, hash_many([b"a"], length=20)):
        with pytest.raises(ValueError, match="digests of 32 bytes"):
            MerkleTree(wrong)
    with pytest.raises(ValueError, match="null"):
        MerkleTree(Digests(leaves.tobytes(), 32, b"\x05"))
    with pytest.raises(TypeError):
        MerkleTree([b"a" * 32])
    for index in (3, -1, 2**62):
        with pytest.raises(IndexError, match="there are 3"):
            tree.proof(index)
    with pytest.raises(ValueError, match="root has 32 bytes"):
        verify_proof(leaves[0], 0, tree.proof(0), root=b"short", leaves=3)
    with pytest.raises(TypeError):
        verify_proof("text", 0, tree.proof(0), root=tree.root, leaves=3)
    with pytest.raises(AttributeError):
        tree.root = b""


def test_merkle_tree_refuses_digests_of_another_length():
    short = hash_many([b"a", b"b", b"c", b"d"], length=16)
    for leaves in (
        short,
        np.asarray(short),
        np.zeros((4, 64), "u1"),
        np.asarray(short).view("V16").ravel(),
        np.zeros(4, "i8"),
    ):
        with pytest.raises(ValueError, match="32 bytes"):
            MerkleTree(leaves)
    whole = hash_many([b"a", b"b"])
    for leaves in (whole, bytes(whole), np.asarray(whole), np.asarray(whole).view("V32"), np.asarray(whole).view("u4")):
        assert MerkleTree(leaves).root == MerkleTree(whole).root


def test_merkle_tree_is_pickled():
    tree = MerkleTree(hash_many([b"a", b"b", b"c"]))
    again = pickle.loads(pickle.dumps(tree))
    assert (again.root, len(again), again.proof(2)) == (tree.root, 3, tree.proof(2))


def test_verify_proof_takes_a_root_in_digits_and_nothing_else():
    digests = hash_many([b"a", b"b", b"c"])
    tree = MerkleTree(digests)
    assert verify_proof(digests[1], 1, tree.proof(1), root=tree.root.hex(), leaves=3)
    with pytest.raises(ValueError, match="64 hexadecimal digits"):
        verify_proof(digests[1], 1, tree.proof(1), root="root", leaves=3)
    with pytest.raises(TypeError, match="fromhex"):
        verify_proof(digests[1].hex(), 1, tree.proof(1), root=tree.root, leaves=3)
    with pytest.raises(TypeError, match="no order"):
        verify_proof(digests[1], 1, set(tree.proof(1)), root=tree.root, leaves=3)
