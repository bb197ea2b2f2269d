#!/usr/bin/env python3
"""`tasuki lend` and who borrows: what is wrong is said, what is lost is said or made good, and nothing is left.

    lend_test.py --tasuki build/bin/tasuki --program build/test/mem/mem_allocations --scratch DIRECTORY
"""
import argparse
import contextlib
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
import time

from lender import Lender


def check(condition, what):
    if not condition:
        sys.exit(f"lend_test: {what}")


class Test:
    def __init__(self, options):
        self.tasuki, self.program, self.folder = options.tasuki, options.program, options.scratch

    def environment(self, key=None):
        env = {k: v for k, v in os.environ.items() if not k.startswith("TASUKI")}
        env["TASUKI_LEND_KEY"] = key or os.path.join(self.folder, "lend.key")
        return env

    def start(self, *options, words=("sizes", "24"), key=None, stdin=subprocess.DEVNULL):
        return subprocess.Popen([self.tasuki, "mem", "--local", "8MiB", *options, self.program, *words], env=self.environment(key),
                                stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, *options, **more):
        process = self.start(*options, **more)
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err

    def lender(self, *options):
        return Lender(self.tasuki, self.folder, *options)

    def refused(self, says, *options, code=1, **more):
        got, out, err = self.run(*options, **more)
        check(got == code and says in err and not out and err.count("\n") == 1, f"{options}: exit {got}, {out!r}, {err!r}; expected {says!r}")

    # --- what is wrong

    def wrong(self):
        with self.lender("--memory", "64MiB", "--quota", "48MiB") as one:
            check(stat.S_IMODE(os.stat(one.key).st_mode) == 0o600, "others can read the key")
            self.refused("cannot reach a lender: 127.0.0.1:1: Connection refused (does `tasuki lend` run there?)", "--lenders", "127.0.0.1:1")
            self.refused("no address for no.such.host.invalid", "--lenders", "no.such.host.invalid")
            self.refused("accepted is HOST or HOST:PORT of each lender", "--lenders", "node:port")
            self.refused("96.0 MiB are wanted, but 48.0 MiB are left for it", "--lenders", one.at, "--memory", "96MiB")
            self.refused("--replicas 2 needs two lenders", "--lenders", one.at, "--replicas", "2")
            self.refused("--erasure-code 4+2 needs 6 lenders, but --lenders names one", "--lenders", one.at, "--erasure-code", "4+2")
            self.refused("accepted is none, or K+M", "--lenders", one.at, "--erasure-code", "3+1")
            self.refused("--compress lz4 is for memory servers", "--lenders", one.at, "--compress", "lz4")
            other = os.path.join(self.folder, "other.key")
            with open(other, "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
                file.write(b"x" * 32)
            self.refused("its key is not this lender's", "--lenders", one.at, key=other)
            self.refused("`tasuki lend` makes it", "--lenders", one.at, key=os.path.join(self.folder, "none.key"))
            code, said = one.end()
            check(code == 0, f"the lender ends with {code}: {said}")
        for options, says, code in ((["--memory", "much"], "--memory much: neither auto nor a size", 2), (["--memory", "900TiB"], "cannot lend 900 TiB", 1),
                                    (["--listen", "no.such.host.invalid:0"], "no address for", 1), (["--listen", "[::1"], "--listen", 2)):
            done = subprocess.run([self.tasuki, "lend", *options], env=self.environment(), capture_output=True, text=True, check=False, timeout=60)
            check(done.returncode == code and says in done.stderr, f"lend {options}: exit {done.returncode}, {done.stderr}")

    # --- who leaves, and what is lost

    def leaving(self):
        with self.lender("--memory", "200MiB") as one:
            borrower = self.start("--lenders", one.at, words=("threads", "24"))
            while "borrows" not in one.process.stdout.readline():
                pass
            one.process.send_signal(signal.SIGTERM)
            check("lends nothing new" in one.process.stdout.readline(), "the lender does not say that it leaves")
            self.refused("this lender is about to leave", "--lenders", one.at)
            out, err = borrower.communicate(timeout=120)
            check(borrower.returncode == 0 and out == "done threads\n", f"the program ends with {borrower.returncode}: {out} {err}")
            said, _ = one.process.communicate(timeout=30)
            check(one.process.returncode == 0, f"the lender ends with {one.process.returncode}: {said}")

    def handing_on(self, *options):
        """One of four is killed, on which nothing is; two are asked to leave, one after the other, and end before the program does."""
        with contextlib.ExitStack() as stack:
            lenders = [stack.enter_context(self.lender("--memory", "200MiB")) for _ in range(4)]
            borrower = self.start("--lenders", ",".join(one.at for one in lenders), *options, words=("wait", "48"),
                                  stdin=subprocess.PIPE)
            check(borrower.stdout.readline() == "waits\n", "the program does not begin")
            lenders[3].kill()
            for one in lenders[:2 if not options else 1]:
                code, said = one.end()
                check(code == 0 and borrower.poll() is None, f"the lender ends with {code}: {said}")
            borrower.stdin.close()
            out, err = borrower.stdout.read(), borrower.stderr.read()
            code = borrower.wait(timeout=120)
            check(code == 0 and out == "done wait\n", f"it ends with {code}: {out} {err}")
            check(f"memory server {lenders[0].at} leaves: nothing of this program is there any more" in err, err)

    def handing_on_beside_a_child(self, *options, servers=3):
        """A child has its pages where they were when it was forked: its lenders stay until it has ended."""
        with contextlib.ExitStack() as stack:
            lenders = [stack.enter_context(self.lender("--memory", "200MiB")) for _ in range(servers)]
            borrower = self.start("--lenders", ",".join(one.at for one in lenders), *options, words=("wait_forked", "48"), stdin=subprocess.PIPE)
            check(borrower.stdout.readline() == "waits\n", "the program does not begin")
            for one in lenders[:2]:
                one.process.send_signal(signal.SIGTERM)
            said = ""
            while said.count("leaves: nothing of this program is there any more") < 2:
                line = borrower.stderr.readline()
                check(line, f"it ends: {said}")
                said += line
            check(lenders[0].process.poll() is None, "a lender is gone that a child needs")
            out, err = borrower.communicate(timeout=120)
            check(borrower.returncode == 0 and out == "done wait_forked\n", f"it ends with {borrower.returncode}: {out} {said} {err}")
            for one in lenders[:2]:
                one.process.communicate(timeout=30)
                check(one.process.returncode == 0, f"the lender ends with {one.process.returncode}")

    def lost(self, replicas, after=0.5):
        """A lender is killed while a program uses it, so many seconds after the program has come."""
        with self.lender("--memory", "200MiB") as one, self.lender("--memory", "200MiB") as two:
            borrower = self.start("--lenders", f"{one.at},{two.at}", "--replicas", replicas, words=("threads", "24"))
            while "borrows" not in one.process.stdout.readline():
                pass
            time.sleep(after)
            one.kill()
            out, err = borrower.communicate(timeout=120)
            # On a busy machine nothing may be there yet; then nothing is lost.
            if replicas != "2" and borrower.returncode == 0 and out == "done threads\n" and after < 4:
                return self.lost(replicas, 2 * after)
            told = f"memory server {one.at} has ended, or its connection has" in err or "memory server " + one.at in err
            if replicas == "2":
                check(borrower.returncode == 0 and out == "done threads\n", f"with two copies it ends with {borrower.returncode}: {out} {err}")
            else:
                check(borrower.returncode == 1 and "cluster memory is lost" in err, f"without copies it ends with {borrower.returncode}: {out} {err}")
            return check(told, f"it does not say who was lost: {err}")

    def one_by_one(self):
        """Two of three are killed, the second one when the copies of the first were made again."""
        with contextlib.ExitStack() as stack:
            lenders = [stack.enter_context(self.lender("--memory", "200MiB")) for _ in range(3)]
            borrower = self.start("--lenders", ",".join(one.at for one in lenders), "--replicas", "2", words=("threads", "48"))
            while "borrows" not in lenders[0].process.stdout.readline():
                pass
            time.sleep(0.5)
            lenders[0].kill()
            # What leaves after the loss has two copies at once: perhaps nothing is to be copied.
            said = []
            reader = threading.Thread(target=lambda: said.extend(iter(borrower.stderr.readline, "")))
            reader.start()
            for words, seconds in (("not used any more", 60), ("two copies again", 30)):
                deadline = time.monotonic() + seconds
                while borrower.poll() is None and not any(words in line for line in said) and time.monotonic() < deadline:
                    time.sleep(0.02)
            check(not any("have one copy now" in line for line in said), f"there is room: {said}")
            lenders[1].kill()
            out = borrower.stdout.read()
            code = borrower.wait(timeout=120)
            reader.join(30)
            check(code == 0 and out == "done threads\n", f"it ends with {code}: {out} {said}")

    def parts(self, words):
        """Of six that have a part each, two are killed at once; parts that a page lacks are computed, by a child that was forked as well."""
        with contextlib.ExitStack() as stack:
            lenders = [stack.enter_context(self.lender("--memory", "100MiB")) for _ in range(6)]
            borrower = self.start("--lenders", ",".join(one.at for one in lenders), "--erasure-code", "4+2", words=(words, "48"),
                                  stdin=subprocess.PIPE)
            check(borrower.stdout.readline() == "waits\n", "the program does not begin")
            for one in lenders[:2]:
                one.kill()
            out, err = borrower.communicate(timeout=120)
            check(borrower.returncode == 0 and out == f"done {words}\n", f"it ends with {borrower.returncode}: {out} {err}")
            for one in lenders[:2]:
                check(f"memory server {one.at}" in err, f"it does not say who was lost: {err}")

    def stopped(self, words, *options):
        """A lender that does not answer any more."""
        with self.lender("--memory", "200MiB") as one:
            borrower = self.start("--lenders", one.at, "--timeout", "2", *options, words=words)
            while "borrows" not in one.process.stdout.readline():
                pass
            time.sleep(0.3)
            one.process.send_signal(signal.SIGSTOP)
            _, err = borrower.communicate(timeout=60)
            one.process.send_signal(signal.SIGCONT)
            check(borrower.returncode == 1 and "has not answered for 2 s" in err, f"exit {borrower.returncode}: {err}")

    def silence(self):
        """More connections that say nothing than the lender has descriptors for; and nobody who reads what it prints."""
        with Lender(self.tasuki, self.folder, "--memory", "200MiB", prefix=["prlimit", "--nofile=64:64"]) as one:
            host, port = one.at.split(":")
            mute = [socket.create_connection((host, int(port)), timeout=10) for _ in range(90)]
            code, out, err = self.run("--lenders", one.at)
            check(code == 0 and out == "done sizes\n", f"beside mute connections: exit {code}, {out} {err}")
            for connection in mute:
                connection.close()
            one.process.stdout.close()
            code, out, err = self.run("--lenders", one.at)
            check(code == 0 and out == "done sizes\n", f"where nobody reads: exit {code}, {out} {err}")
            one.process.send_signal(signal.SIGTERM)
            check(one.process.wait(timeout=30) == 0, "the lender does not end in order")

    def killed_borrowers(self):
        """What they had is lent again."""
        with self.lender("--memory", "100MiB") as one:
            for _ in range(5):
                borrower = self.start("--lenders", one.at, "--memory", "96MiB", words=("threads", "24"))
                while "borrows 96.0 MiB" not in one.process.stdout.readline():
                    pass
                time.sleep(0.1)
                borrower.kill()
                borrower.communicate()
                while "100 MiB of 100 MiB are left" not in one.process.stdout.readline():
                    pass


def main():
    parser = argparse.ArgumentParser()
    for name in ("tasuki", "program", "scratch"):
        parser.add_argument("--" + name, type=os.path.abspath, required=True)
    options = parser.parse_args()
    shutil.rmtree(options.scratch, ignore_errors=True)
    os.makedirs(options.scratch)
    test = Test(options)
    for name, part in (("wrong", test.wrong), ("leaving", test.leaving), ("handing on", test.handing_on),
                       ("handing on, two copies", lambda: test.handing_on("--replicas", "2")),
                       ("handing on, with a child", test.handing_on_beside_a_child),
                       ("handing on, with a child and parts", lambda: test.handing_on_beside_a_child("--erasure-code", "2+1", servers=5)),
                       ("parts", lambda: test.parts("wait")), ("parts, with a child", lambda: test.parts("wait_forked")),
                       ("lost 1", lambda: test.lost("1")),
                       ("lost 2", lambda: test.lost("2")), ("one by one", test.one_by_one),
                       ("stopped", lambda: test.stopped(("threads", "24"))),
                       ("stopped, one thread", lambda: test.stopped(("sizes", "24"), "--prefetch", "off", "--page-size", "4KiB")),
                       ("silence", test.silence), ("killed borrowers", test.killed_borrowers)):
        part()
        print(f"{name}: as expected", flush=True)


if __name__ == "__main__":
    main()
