#!/usr/bin/env python3
"""Lists what a build of the release is made of, as SPDX 2.3 in JSON: the Debian packages whose headers were compiled in, whose static
libraries were linked in, and whose shared libraries are needed.

    components.py --build BUILD --tree TREE --version VERSION

Nothing is taken from a list: headers come from the compiler's own dependency files, libraries from the linker, which links each file of
TREE once more to say what it reads. The licences of what TREE holds of others are copied to its share/doc/tasuki/licenses.
SOURCE_DATE_EPOCH is the time of the document."""
import argparse
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from needs import elf_files

# Of the packages' own files; where Debian's name for a licence is not SPDX's, or a package has several.
LICENSES = {
    "libboost": "BSL-1.0",
    "libc6": "LGPL-2.1-or-later",
    "libclang": "Apache-2.0 WITH LLVM-exception",
    "libcli11-dev": "BSD-3-Clause",
    "libgcc": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "libgomp": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "libhwloc-dev": "BSD-3-Clause",
    "libisal-dev": "BSD-3-Clause",
    "liblz4-dev": "BSD-2-Clause",
    "libmpich": "mpich2",
    "libopenmpi": "BSD-3-Clause",
    "libstdc++": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "libtomlplusplus-dev": "MIT",
    "liburing-dev": "MIT OR LGPL-2.1-only",
    "libxxhash-dev": "BSD-2-Clause",
    "linux-libc-dev": "GPL-2.0-only WITH Linux-syscall-note",
    "nlohmann-json3-dev": "MIT",
}
RELATIONS = {"static": "STATIC_LINK", "headers": "CONTAINS", "dynamic": "DYNAMIC_LINK"}


def output(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **options).stdout


def headers(build):
    found = re.findall(r"^    (\S.*)$", output("ninja", "-C", build, "-t", "deps"), flags=re.M)
    return {path for path in found if path.startswith("/")}


def linked(build, tree):
    """What the linker reads to make each program and library of the tree."""
    commands = output("ninja", "-C", build, "-t", "commands").splitlines()
    inputs = set()
    with tempfile.TemporaryDirectory() as work:
        for file in elf_files(tree):
            target = str(file.relative_to(tree))
            pieces = [piece for line in commands for piece in line.split(" && ") if f" -o {target} " in piece]
            if len(pieces) != 1:
                sys.exit(f"components.py: {len(pieces)} commands link {target}, where one was expected")
            again = pieces[0].replace(f" -o {target} ", f" -o {work}/file -Wl,--trace ")
            inputs |= {line.strip() for line in output("sh", "-c", again, cwd=build).splitlines()}
    return {path for path in inputs if path.startswith("/")}


def owners_of(paths):
    """Path -> the packages that have it. Where /lib is a link to /usr/lib, packages may still call its files by the shorter path."""
    names = {path: path for path in paths} | {path.removeprefix("/usr"): path for path in paths if path.startswith("/usr/lib")}
    lines = subprocess.run(["dpkg-query", "--search", *sorted(names)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    result = {}
    for line in lines.splitlines():
        packages, _, path = line.partition(": ")
        if path in names:
            result.setdefault(names[path], set()).update(name.partition(":")[0] for name in packages.split(", "))
    return result


def packages_of(paths, sysroot):
    """Package -> version; of the system, and of the older glibc in the sysroot."""
    older = dict(line.split("\t") for line in (sysroot / "packages/list").read_text().splitlines())
    result, system = {}, set()
    for path in paths:
        real = os.path.realpath(path)
        if not pathlib.Path(real).is_relative_to(sysroot):
            system.add(real)
        else:
            name = "libc6" if re.search(r"\.so(\.|$)|/ld-", real) and not real.endswith("/libc.so") else "libc6-dev"
            result[name] = older[name]
    owners = owners_of(system)
    for path in system:
        if not owners.get(path):
            sys.exit(f"components.py: no package has {path}")
        for name in owners[path]:
            result[name] = output("dpkg-query", "--show", "--showformat", "${Version}", name)
    return result


def copy_licenses(packages, sysroot, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for package in sorted(packages):
        place = pathlib.Path("usr/share/doc") / package / "copyright"
        texts = [root / place for root in (sysroot, pathlib.Path("/")) if (root / place).exists()]
        if not texts:
            sys.exit(f"components.py: {package} has no {place}")
        (folder / f"{package}.txt").write_bytes(texts[0].read_bytes())


def license_of(package):
    return next((license for start, license in LICENSES.items() if package.startswith(start)), "NOASSERTION")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--tree", type=pathlib.Path, required=True)
    parser.add_argument("--version", required=True)
    options = parser.parse_args()
    build = options.build.resolve()
    source = pathlib.Path(__file__).resolve().parents[2]
    sysroot = build / "sysroot"

    def foreign(path):
        real = pathlib.Path(os.path.realpath(path))
        return real.is_relative_to(sysroot) or not (real.is_relative_to(source) or real.is_relative_to(build))

    link = {path for path in linked(build, options.tree.resolve()) if foreign(path)}
    shared = {path for path in link if re.search(r"\.so(\.[\d.]+)?$", path)}
    scripts = {path for path in shared if not pathlib.Path(path).read_bytes().startswith(b"\x7fELF")}  # of the linker: they name others
    parts = {"static": link - shared, "headers": {path for path in headers(build) if foreign(path)}, "dynamic": shared - scripts}

    packages, relations, inside = {}, set(), set()
    for how, paths in parts.items():
        for name, version in packages_of(paths, sysroot).items():
            packages[name] = {
                "SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name), "name": name, "versionInfo": version,
                "supplier": "Organization: Debian", "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
                "licenseConcluded": license_of(name), "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION",
                "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                  "referenceLocator": f"pkg:deb/debian/{name}@{version}?arch=amd64"}]}  # fmt: skip
            relations.add((RELATIONS[how], packages[name]["SPDXID"]))
            if how != "dynamic":
                inside.add(name)
    copy_licenses(inside, sysroot, options.tree / "share/doc/tasuki/licenses")
    files = [{
        "SPDXID": f"SPDXRef-File-{i}", "fileName": "./" + str(path.relative_to(options.tree)), "licenseConcluded": "BSD-3-Clause",
        "copyrightText": "NOASSERTION",
        "checksums": [{"algorithm": algorithm, "checksumValue": hashlib.new(algorithm.lower(), path.read_bytes()).hexdigest()}
                      for algorithm in ("SHA1", "SHA256")]} for i, path in enumerate(elf_files(options.tree))]  # fmt: skip
    own = {"SPDXID": "SPDXRef-tasuki", "name": "tasuki", "versionInfo": options.version, "downloadLocation": "NOASSERTION",
           "filesAnalyzed": False, "licenseConcluded": "BSD-3-Clause", "licenseDeclared": "BSD-3-Clause",
           "copyrightText": "NOASSERTION"}  # fmt: skip
    created = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    name = f"tasuki-{options.version}-x86_64-linux"
    described = ["SPDXRef-tasuki"] + [file["SPDXID"] for file in files]
    content = {
        "packages": [own] + [packages[key] for key in sorted(packages)], "files": files,
        "relationships": [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": what}
                          for what in described]
        + [{"spdxElementId": "SPDXRef-tasuki", "relationshipType": how, "relatedSpdxElement": what}
           for how, what in sorted(relations)]}  # fmt: skip
    digest = hashlib.sha256(json.dumps(content).encode()).hexdigest()
    json.dump({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": name,
        "documentNamespace": f"urn:tasuki:{name}:{digest}",
        "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: tasuki-components"]}, **content},
        sys.stdout, indent=1)  # fmt: skip
    print()


if __name__ == "__main__":
    main()
