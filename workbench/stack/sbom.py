"""``python -m workbench.stack.sbom LOCK VERSION``: what a release is made of, as CycloneDX JSON on standard output.

One component for each package that the lock installs on Linux, with the hashes that the lock allows. The same lock and
version give the same text: no time stands in it, and its number follows from its content.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final
from uuid import NAMESPACE_URL, uuid5

from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.dependency import Dependency
from cyclonedx.model.license import DisjunctiveLicense
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from packageurl import PackageURL
from packaging.requirements import Requirement

from workbench.version import DISTRIBUTION

#: What markers of the lock are asked about: the image.
IMAGE: Final = {
    "sys_platform": "linux",
    "platform_system": "Linux",
    "os_name": "posix",
    "platform_machine": "x86_64",
    "platform_python_implementation": "CPython",
    "implementation_name": "cpython",
    "python_version": "3.12",
    "python_full_version": "3.12.0",
}


def locked(text: str) -> Iterator[tuple[str, str, list[str]]]:
    """Name, version and SHA-256 sums of each package that the lock installs in the image."""
    for entry in re.sub(r"\\\n\s*", " ", text).splitlines():
        pin, *hashes = entry.split(" --hash=sha256:")
        if not pin.strip() or pin.startswith("#"):
            continue
        wanted = Requirement(pin.strip())
        if wanted.marker is None or wanted.marker.evaluate(IMAGE):
            (exact,) = wanted.specifier
            yield wanted.name, exact.version, [value.strip() for value in hashes]


def bill(lock: str, version: str) -> str:
    """The bill of materials as JSON."""
    product = Component(
        name=DISTRIBUTION,
        version=version,
        type=ComponentType.APPLICATION,
        bom_ref=DISTRIBUTION,
        purl=PackageURL("pypi", name=DISTRIBUTION, version=version),
        licenses=[DisjunctiveLicense(id="Apache-2.0")],
    )
    parts = [
        Component(
            name=name,
            version=number,
            type=ComponentType.LIBRARY,
            bom_ref=f"{name}=={number}",
            purl=PackageURL("pypi", name=name, version=number),
            hashes=[HashType(alg=HashAlgorithm.SHA_256, content=content) for content in sums],
        )
        for name, number, sums in locked(lock)
    ]
    bom = Bom(
        components=parts,
        serial_number=uuid5(NAMESPACE_URL, f"{DISTRIBUTION} {version}\n{lock}"),
        dependencies=[Dependency(product.bom_ref, [Dependency(part.bom_ref) for part in parts])],
    )
    bom.metadata.component = product
    written = json.loads(make_outputter(bom, OutputFormat.JSON, SchemaVersion.V1_6).output_as_string())
    del written["metadata"]["timestamp"]
    return json.dumps(written, indent=1) + "\n"


def main(argv: Sequence[str]) -> int:
    """Write the bill of the lock and version that are named; 2 for wrong use."""
    if len(argv) != 2:
        print("usage: python -m workbench.stack.sbom LOCK VERSION", file=sys.stderr)
        return 2
    lock, version = argv
    sys.stdout.write(bill(Path(lock).read_text("utf-8"), version))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
