#!/usr/bin/env python3
"""Redis with more than its local memory, which saves by forked children (BGSAVE) while its values change: each file must hold what there was
when it was begun. A Redis without Tasuki reads the files. Exits with 77 where Redis is not installed.

    redis_test.py --tasuki build/bin/tasuki --scratch DIRECTORY [--faults WAY]
"""
import argparse
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import time

VALUES, BYTES, SAVES = 60, 1500000, 3
LOCAL = 24  # MiB
BINARY = "redis-check-rdb"
SKIPPED = 77


class Server:
    def __init__(self, folder, prefix=(), dump="dump.rdb"):
        self.log = open(os.path.join(folder, "log"), "ab")
        # Unix sockets have short names.
        program = os.path.join(folder, "redis-server")  # Debian's redis-tools have it under another name
        if not os.path.exists(program):
            os.symlink(shutil.which(BINARY), program)
        command = list(prefix) + [program, "--port", "0", "--unixsocket", "socket", "--dir", folder, "--dbfilename", dump, "--save", "",
                                  "--rdbcompression", "no", "--enable-debug-command", "yes"]
        self.process = subprocess.Popen(command, cwd=folder, stdout=self.log, stderr=self.log)
        self.socket = socket.socket(socket.AF_UNIX)
        before = os.getcwd()
        os.chdir(folder)
        for _ in range(600):
            try:
                self.socket.connect("socket")
                break
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.1)
        os.chdir(before)
        self.answers = self.socket.makefile("rb")
        while b"loading:1" in self.call(b"INFO", b"persistence"):
            time.sleep(0.05)

    def call(self, *words):
        self.socket.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
        line = self.answers.readline()
        if line[:1] != b"$":
            return line.strip()
        return self.answers.read(int(line[1:]) + 2)[:-2]

    def digest(self):
        digest = self.call(b"DEBUG", b"DIGEST")
        assert re.fullmatch(rb"\+[0-9a-f]{40}", digest), digest
        return digest

    def end(self):
        self.socket.sendall(b"*2\r\n$8\r\nSHUTDOWN\r\n$6\r\nNOSAVE\r\n")
        code = self.process.wait(60)
        self.log.close()
        assert code == 0, f"redis-server ended with {code}"


def check(options):
    shutil.rmtree(options.scratch, ignore_errors=True)
    os.makedirs(options.scratch)
    prefix = [options.tasuki, "mem", "--store", options.scratch, "--store-size", "400MiB", "--local", f"{LOCAL}MiB", "--stats"]
    server = Server(options.scratch, prefix + (["--faults", options.faults] if options.faults else []))
    numbers = random.Random(1)
    values = {b"%d" % i: numbers.randbytes(BYTES + i) for i in range(VALUES)}
    for key, value in values.items():
        assert server.call(b"SET", key, value) == b"+OK"
    digests = []
    for save in range(SAVES):
        digests.append(server.digest())
        assert server.call(b"BGSAVE").startswith(b"+Background")
        for key in values:  # some before the child has come to them, some after
            value = numbers.randbytes(BYTES)
            assert server.call(b"SET", key, value) == b"+OK"
            assert server.call(b"SETRANGE", key, b"5000", b"changed") == b":%d" % BYTES
            values[key] = value[:5000] + b"changed" + value[5007:]
        while b"bgsave_in_progress:1" in server.call(b"INFO", b"persistence"):
            time.sleep(0.05)
        assert b"last_bgsave_status:ok" in server.call(b"INFO", b"persistence")
        os.rename(os.path.join(options.scratch, "dump.rdb"), os.path.join(options.scratch, f"dump{save}.rdb"))
    for key, value in values.items():
        assert server.call(b"GET", key) == value
    server.end()
    said = open(os.path.join(options.scratch, "log"), encoding="utf-8", errors="replace").read()
    out = re.search(r"swaps out \d+, ([\d.]+) MiB", said)
    print(re.sub(r"(?m)^(?!tasuki:).*\n", "", said), end="")
    assert out and float(out.group(1)) > LOCAL, "nothing was sent away: the run proves nothing"
    for save, digest in enumerate(digests):
        reader = Server(options.scratch, dump=f"dump{save}.rdb")
        assert reader.digest() == digest, f"save {save} is not what there was"
        reader.end()


def main():
    parser = argparse.ArgumentParser()
    for option in ("--tasuki", "--scratch"):
        parser.add_argument(option, required=True, type=os.path.abspath)
    parser.add_argument("--faults")
    options = parser.parse_args()
    if shutil.which(BINARY) is None:
        print(f"{BINARY} is not installed (Debian package redis-tools)")
        return SKIPPED
    check(options)
    shutil.rmtree(options.scratch)
    return 0


if __name__ == "__main__":
    sys.exit(main())
