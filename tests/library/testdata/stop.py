"""Stops calls by Ctrl-C and by timeouts; prints what did not end as it should."""
import os
import signal
import threading
import time

import numpy as np
import s

a = np.ones((3000, 3000), np.float32)


def interrupt():
    threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT)).start()


def ends(kind, f, *args):
    begin = time.monotonic()
    try:
        f(*args)
        print(f, "gave no error")
    except kind:
        pass
    if time.monotonic() - begin > 3:
        print(f, "went on for", time.monotonic() - begin)


def timed(f, *args):
    with s.timeout(100), s.timeout(0.05), s.timeout(100):
        f(*args)


for f, args in ((s.turns, (2000000000, 1.0)), (s.prod, (a, a))):
    interrupt()
    ends(KeyboardInterrupt, f, *args)
    ends(TimeoutError, timed, f, *args)
    thread = threading.Thread(target=ends, args=(TimeoutError, timed, f) + args)
    thread.start()
    thread.join()
if s.turns(0, 1.0) != 1.0:
    print("a call after those that were stopped")
signal.signal(signal.SIGINT, lambda *_: None)
interrupt()
ends(InterruptedError, s.turns, 2000000000, 1.0)
