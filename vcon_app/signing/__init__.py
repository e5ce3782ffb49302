"""Signatures: who made one, and whether anybody here has a reason to believe it. Pure: no Django, no clock, no network.

Two facts are kept apart: whether the bytes are those that were signed, and whether the signer leads to one of the
anchors that a workspace trusts. ``valid`` is said where both hold. Keys and certificates are given by the caller or
stand in the file; an address in a file (``x5u``, ``public_key_hint``) is never followed.

``keys`` reads what people paste, ``algorithms`` is the allow-list, ``chain`` judges certificates and ``one_signature``
one signature over some bytes. ``jws`` is for vCons (core s5.2, RFC 7515), ``feeds`` for llmfeed (four schemes as
computed in practice, over ``canonical`` JSON), ``cose`` for COSE_Sign1; ``jwe`` decrypts what was encrypted for us
(core s5.3, RFC 7516). ``states`` says which of several states counts. ``signers`` holds a key of ours.
"""
