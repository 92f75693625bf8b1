"""Commands about signing keys: keys make, keys show, keys rotate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hybrid.base.errors import ConfigError
from hybrid.cli import console
from hybrid.cli.group import Group
from hybrid.cli.options import AsJson, Work

if TYPE_CHECKING:
    from hybrid.publication.signing.keyring import SigningKey

Source = Annotated[
    str | None,
    typer.Option("--from", metavar="PLACE", help="An existing key: file:PATH, env:NAME or hsm:ID?label=TOKEN."),
]
_APP = typer.Typer(no_args_is_help=True, help="Keys that sign releases: make, show the public half, rotate.")


def make(source: Source = None, work: Work = Path("work")) -> None:
    """Make the signing key of this installation, or name an existing one.

    Without --from: an Ed25519 key in the private zone. The first release makes one, too.
    """
    from hybrid.publication.signing.keyring import make_key

    _announce(make_key(work, source))


def rotate(source: Source = None, work: Work = Path("work")) -> None:
    """Sign later releases by a new key.

    The earlier public keys stay known; an earlier private key that this program made is removed.
    """
    from hybrid.publication.signing.keyring import rotate_key

    _announce(rotate_key(work, source))


def show(
    every: Annotated[bool, typer.Option("--all", help="Earlier keys, too.")] = False,
    work: Work = Path("work"),
    as_json: AsJson = False,
) -> None:
    """Print the public key (PEM), to give to the readers of releases."""
    from hybrid.publication.signing.keyring import public_pem, signing_keys

    keys = signing_keys(work)
    if not keys:
        raise ConfigError(f"{work}: there is no signing key yet", hint="hybrid keys make")
    chosen = keys if every else keys[-1:]
    if as_json:
        console.out.print_json(json.dumps([_about(key) | {"public": public_pem(key.public)} for key in chosen]))
    else:
        typer.echo("".join(public_pem(key.public) for key in chosen), nl=False)


def _announce(key: SigningKey) -> None:
    console.line("ok", f"releases are signed by key {key.keyid} ({key.public.scheme}, {key.source})")
    console.line("note", "give its public half to the readers of your releases: hybrid keys show > publisher.pem")


def _about(key: SigningKey) -> dict[str, str | None]:
    scheme = str(key.public.scheme)
    return {"keyid": key.keyid, "scheme": scheme, "source": key.source, "made": key.made, "retired": key.retired}


for _command in (make, show, rotate):
    _APP.command()(_command)
GROUP = Group("Releases", families={"keys": _APP})
