"""People who may accept a review: spelling of their names, their keys, and the signatures of these.

Names are compared by skeletons as in Unicode Technical Standard #39, section 4, for the letters that occur in names:
compatibility forms, accents, case, blanks and punctuation do not count, nor do letters of other alphabets with the same
look. Signatures are those of OpenSSH (``ssh-keygen -Y sign``, PROTOCOL.sshsig in its sources; strings as in RFC 4251,
section 5; keys and signatures as in RFC 8709); only Ed25519 is accepted.
"""

from __future__ import annotations

import binascii
import datetime
import hashlib
import unicodedata
from base64 import b64decode, b64encode
from collections.abc import Sequence

from pydantic import Field, field_validator

from hybrid.base.errors import ConfigError, Problem
from hybrid.base.options import Options
from hybrid.base.sentence import sentence

_PUNCTUATION = frozenset(" .,'’·-_@&()/")
_ALPHABETS = frozenset({"ARMENIAN", "CHEROKEE", "COPTIC", "CYRILLIC", "GEORGIAN", "GREEK", "LATIN", "LISU"})
"""Scripts that have letters with the same look; a name is of one of them."""
_PHONETIC = ((0x0250, 0x02AF), (0x1D00, 0x1DBF), (0xA720, 0xA7FF), (0xAB30, 0xAB6F))
"""Blocks of Latin letters that no name needs and that look like common ones."""
_CAPITALS = str.maketrans("АВЕКМНОРСТУХЅІЈԚԜΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹ", "ABEKMHOPCTYXSIJQWABEZHIKMNOPTYXC")
_SMALL = str.maketrans("авгеёзікмнорстухѕјһԁԛԝѵүαγεικνορτυχωϲϳı01", "abreezikmhopctyxsjhdqwvyayeikvoptuxwcjiol")
"""Cyrillic and Greek letters, a dotless i, and digits, with the Latin letter that looks like each."""
_SAME = (("rn", "m"), ("vv", "w"), ("i", "l"))
LONGEST = 100


def clean_name(name: str, where: str) -> str:
    """Normalize the name of a person (NFKC, single blanks) from an option or key, which messages name (``where``).

    Refused if it has no two letters, is longer than :data:`LONGEST`, holds characters that are invisible or not of
    names, or mixes alphabets with letters that look alike.
    """
    plain = clean_text(name, where)
    letters = [character for character in plain if character.isalpha()]
    strange = [character for character in plain if not _is_of_names(character)]
    if strange:
        codes = ", ".join(f"U+{ord(character):04X}" for character in sorted(set(strange))[:5])
        raise ConfigError(f"{where}: the name holds characters that no name has ({codes})", hint="type it again")
    if len(letters) < 2 or len(plain) > LONGEST:
        raise ConfigError(f"{where}: a name has at least two letters, and at most {LONGEST}", hint="give the full name")
    scripts = sorted({unicodedata.name(letter, "").partition(" ")[0] for letter in letters} & _ALPHABETS)
    if len(scripts) > 1:
        raise ConfigError(
            f"{where}: the name mixes letters of the alphabets {' and '.join(scripts).title()}, which look alike",
            hint="type it with one keyboard layout",
        )
    return plain


def clean_text(text: str, where: str) -> str:
    """Normalize a line of text: NFKC, single blanks."""
    plain = " ".join(unicodedata.normalize("NFKC", text).split())
    hidden = sorted({character for character in plain if unicodedata.category(character) in ("Cc", "Cf", "Co", "Cs")})
    if hidden:
        codes = ", ".join(f"U+{ord(character):04X}" for character in hidden[:5])
        raise ConfigError(f"{where}: the text holds invisible characters ({codes})", hint="type it again")
    return plain


def person_of(name: str) -> str:
    """Skeleton of a name, for comparison only: all spellings that look alike share it.

    Different people may share it (Ali and All): then one of them gives a fuller name.
    """
    folded = unicodedata.normalize("NFKC", name).translate(_CAPITALS).casefold()
    plain = unicodedata.normalize("NFKD", folded).translate(_SMALL)
    letters = "".join(found for found in plain if found.isalnum())
    for look, one in _SAME:
        letters = letters.replace(look, one)
    return letters


def _is_of_names(character: str) -> bool:
    if any(first <= ord(character) <= last for first, last in _PHONETIC):
        return False
    return character in _PUNCTUATION or unicodedata.category(character)[0] in "LM" or character in "0123456789"


ALGORITHM = "ssh-ed25519"
_MAGIC = b"SSHSIG"
_VERSION = 1
_BEGIN, _END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
_HASHES = {b"sha512": hashlib.sha512, b"sha256": hashlib.sha256}
_KEY_BYTES, _SIGNATURE_BYTES, _LENGTH_BYTES = 32, 64, 4


class SignatureProblem(ValueError):
    """A signature or a key cannot be accepted; the text says why."""


def parse_public_key(line: str) -> bytes:
    """Encoded form of a public key, as in a signature.

    ``line`` is the content of a ``.pub`` file of OpenSSH: ``"ssh-ed25519 AAAA... comment"``.
    """
    words = line.split()
    if len(words) < 2 or words[0] != ALGORITHM:
        raise SignatureProblem(f"the key is not of the kind {ALGORITHM}")
    blob = _decoded(words[1])
    _raw_key(blob)
    return blob


def key_fingerprint(public_key: bytes) -> str:
    """SHA-256 of an encoded key, as ``ssh-keygen -l`` shows it."""
    return "SHA256:" + b64encode(hashlib.sha256(public_key).digest()).decode().rstrip("=")


def verify_signature(message: bytes, armored: str, public_key: bytes, namespace: str) -> None:
    """Verify that the expected signer signed a message, to the last byte, for this purpose.

    ``public_key`` is as :func:`parse_public_key` gives it: the key in the signature itself proves nothing.
    SignatureProblem: it is damaged, by another key, for another purpose, or of another message.
    """
    # By hand: releases are verified where no ssh-keygen is installed, and cryptography reads keys of OpenSSH, but not
    # its signatures. With ssh-keygen where it is present there would be two verifiers that may disagree.
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    signer, purpose, reserved, algorithm, signature = _parts(armored)
    if signer != public_key:
        raise SignatureProblem(f"it was made with another key ({key_fingerprint(signer)})")
    if purpose != namespace.encode():
        raise SignatureProblem(f"it was made for another purpose: ssh-keygen -Y sign -n {namespace}")
    if algorithm not in _HASHES:
        raise SignatureProblem("it uses a hash that is not supported")
    kind, raw = _strings(signature, 2)
    if kind != ALGORITHM.encode() or len(raw) != _SIGNATURE_BYTES:
        raise SignatureProblem(f"it is not of the kind {ALGORITHM}")
    digest = _HASHES[algorithm](message).digest()
    signed = _MAGIC + b"".join(_string(part) for part in (purpose, reserved, algorithm, digest))
    try:
        Ed25519PublicKey.from_public_bytes(_raw_key(public_key)).verify(raw, signed)
    except InvalidSignature:
        raise SignatureProblem("it is not of this text: the text or the signature was changed") from None


def _parts(armored: str) -> list[bytes]:
    """Public key, namespace, reserved, hash algorithm and signature."""
    begin, end = armored.find(_BEGIN), armored.find(_END)
    if begin < 0 or end < begin:
        raise SignatureProblem("this is not a signature by ssh-keygen -Y sign")
    content = _decoded("".join(armored[begin + len(_BEGIN) : end].split()))
    head = _MAGIC + _VERSION.to_bytes(_LENGTH_BYTES, "big")
    if not content.startswith(head):
        raise SignatureProblem("this is not a signature of version 1")
    return _strings(content[len(head) :], 5)


def _raw_key(blob: bytes) -> bytes:
    kind, raw = _strings(blob, 2)
    if kind != ALGORITHM.encode() or len(raw) != _KEY_BYTES:
        raise SignatureProblem(f"the key is not of the kind {ALGORITHM}")
    return raw


def _decoded(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise SignatureProblem("it is damaged") from None


def _string(content: bytes) -> bytes:
    return len(content).to_bytes(_LENGTH_BYTES, "big") + content


def _strings(content: bytes, count: int) -> list[bytes]:
    found = []
    for _ in range(count):
        size = int.from_bytes(content[:_LENGTH_BYTES], "big")
        if len(content) < _LENGTH_BYTES + size:
            raise SignatureProblem("it is damaged")
        found.append(content[_LENGTH_BYTES : _LENGTH_BYTES + size])
        content = content[_LENGTH_BYTES + size :]
    if content:
        raise SignatureProblem("it is damaged")
    return found


NO_ROSTER = "the policy wants signed approvals, and names no approvers"
"""Reason why nobody can accept a review under a policy."""
ROSTER_HINT = (
    "copy the policy into a file, list under approvers who decides, with the line of each ~/.ssh/id_ed25519.pub, name "
    "the file as policy, and run again; or set approvals: 1 and signed_approvals: false there"
)


class Approver(Options):
    """One person who may accept reviews."""

    name: str
    """Name as in --by."""
    key: str
    """Public Ed25519 key, the line of a .pub file of OpenSSH: "ssh-ed25519 AAAA... comment"."""
    accounts: tuple[str, ...] = ()
    """Accounts of the operating system of this person, such as "ada@ward7": what they ran, this person does not
    approve."""
    until: datetime.date | None = Field(default=None)
    """The last day on which approvals of this person count; null: no end."""

    @property
    def public_key(self) -> bytes:
        return parse_public_key(self.key)

    @field_validator("name")
    @classmethod
    def _name_of_a_person(cls, name: str) -> str:
        try:
            return clean_name(name, "name")
        except ConfigError as error:
            raise ValueError(error.problems[0].message) from None

    @field_validator("key")
    @classmethod
    def _key_of_openssh(cls, key: str) -> str:
        try:
            parse_public_key(key)
        except SignatureProblem as problem:
            raise ValueError(f"{problem}: ssh-keygen -t ed25519 makes one") from None
        return " ".join(key.split())


def unproven_problem(approvers: Sequence[Approver], approvals: int, signed_approvals: bool) -> Problem | None:
    """Promise of a policy's approvals without proof; None without one."""
    if approvers:
        return None
    if signed_approvals:
        return Problem(f"{NO_ROSTER}: nobody can accept a review of this run", ROSTER_HINT)
    if approvals < 2:
        return None
    said = sentence("policy.unproven", n=approvals)
    return Problem(said, "list under approvers who decides, with the line of each ~/.ssh/id_ed25519.pub")


def check_roster(approvers: Sequence[Approver], approvals: int) -> None:
    """Raise a ValueError where a roster cannot be used."""
    if not approvers:
        return
    people = {person_of(approver.name) for approver in approvers}
    keys = {approver.public_key for approver in approvers}
    if len(people) < len(approvers) or len(keys) < len(approvers):
        raise ValueError("approvers: every person is named once, with a key that nobody else has")
    if approvals > len(approvers):
        raise ValueError(f"approvals is {approvals}, and approvers names {len(approvers)}")
