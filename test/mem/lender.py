"""A lender (`tasuki lend`) for a test, with a key of its own."""
import os
import re
import signal
import subprocess


class Lender:
    def __init__(self, tasuki, folder, *options, prefix=(), host="127.0.0.1"):
        self.env = dict(os.environ, TASUKI_LEND_KEY=os.path.join(folder, "lend.key"))
        self.process = subprocess.Popen([*prefix, tasuki, "lend", "--listen", f"{host}:0", *options], env=self.env, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        first = self.process.stdout.readline()
        found = re.search(r"lends (.*) at (\S+):(\d+) to who has the key in (\S+):", first)
        if found is None:
            raise RuntimeError(f"tasuki lend said: {first}{self.process.stdout.read()}")
        self.at = f"{found[2]}:{found[3]}"
        self.key = found[4]
        self.process.stdout.readline()

    def kill(self):
        self.process.kill()
        self.process.communicate()

    def end(self, number=signal.SIGTERM):
        """Asks it to end, and returns its exit code and what it has said."""
        self.process.send_signal(number)
        try:
            said, _ = self.process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        return self.process.returncode, said

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.kill()
