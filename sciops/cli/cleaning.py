"""`sciops clean`: cosmic rays out of FITS files, by a network that was trained before."""

import json
from pathlib import Path
from typing import Annotated

import typer

import sciops

from .options import Json, Overwrite
from .text import or_exit, stop


def clean(
    images: Annotated[list[Path], typer.Argument(help="FITS files")],
    run: Annotated[Path, typer.Option(help="folder of a run of `sciops train cosmic`")],
    out: Annotated[
        Path | None, typer.Option(help="folder of the new files; if not given, the image's")
    ] = None,
    threshold: Annotated[float, typer.Option(help="probability above which a pixel is hit")] = 0.5,
    saturation: Annotated[
        float | None, typer.Option(help="never flag pixels from here on; else SATURATE if there")
    ] = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Find and remove cosmic rays: writes …_mask, …_probability and …_clean.fits."""
    opened = or_exit(sciops.open_run, run)
    if opened.config["name"] != "cosmic":
        stop(f"{run} was trained on {opened.config['name']}; give a run of `sciops train cosmic`")
    how = dict(threshold=threshold, saturation=saturation, overwrite=overwrite)
    cleaned = []
    for image in images:
        done = or_exit(opened.clean_file, image, out, **how)
        if as_json:
            cleaned.append({"image": image, **done._asdict()})
            continue
        share = done.flagged / done.pixels
        pictures = f"{done.images} images" if done.images > 1 else "1 image"
        typer.echo(
            f"{image}: {done.flagged} of {done.pixels} pixels flagged ({share:.3%}), {pictures}"
        )
        for path in (done.mask, done.probability, done.clean):
            typer.echo(f"    {path}")
    if as_json:
        typer.echo(json.dumps(cleaned, indent=1, default=str))
