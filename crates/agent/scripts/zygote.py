# A python that forks. The agent started it with a socket as descriptor 3 and sends requests:
#
#   length (4 bytes, little-endian)   number NUL kind NUL [path NUL cwd NUL count NUL (NAME=VALUE NUL)*]
#
# with the new process's three standard descriptors and a socket of its own. It answers with 13 bytes: F (number, pid: forked),
# E (number, status: ended). The kinds of forks:
#
#   spare     closes its socket when it waits. Its input begins with a length and a request, path NUL cwd NUL ... as above;
#             what follows is the program's own input
#   session   starts in the request's folder, with its variables. Further requests come over its socket, each of which is
#             answered by a status and a newline
import array, atexit, base64, collections, contextlib, copy, csv, datetime, functools, gc, hashlib, io, itertools, json
import linecache, math, operator, os, pathlib, random, re, select, signal, site, socket, string, struct, subprocess, sys
import tempfile, textwrap, threading, time, traceback, types, typing, urllib.parse


def read_exactly(read, count):
    data = b""
    while len(data) < count:
        piece = read(count - len(data))
        if not piece:
            os._exit(0)
        data += piece
    return data


def fields(body):
    texts = body.split(b"\0")[:-1]
    path, cwd, count = texts[0], texts[1], int(texts[2])
    return path, cwd, [tuple(pair.split(b"=", 1)) for pair in texts[3 : 3 + count]]


def serve():
    """Returns in a fork only, with what it is to do."""
    control = socket.socket(fileno=3)
    wake, waker = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    forks = {}
    poll = select.poll()
    poll.register(control, select.POLLIN)
    poll.register(wake, select.POLLIN)
    gc.collect()
    gc.freeze()
    while True:
        for descriptor, _ in poll.poll():
            if descriptor == wake:
                with contextlib.suppress(BlockingIOError):
                    os.read(wake, 4096)
                continue
            head, fds, _, _ = socket.recv_fds(control, 4, 4)
            if not head:
                os._exit(0)
            head += read_exactly(control.recv, 4 - len(head))
            request = read_exactly(control.recv, struct.unpack("<I", head)[0])
            number, kind, request = request.split(b"\0", 2)
            pid = os.fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                os.setsid()
                control.detach()
                for place, descriptor in enumerate(fds):
                    os.dup2(descriptor, place)
                os.closerange(len(fds), 64)
                return kind, request
            for descriptor in fds:
                os.close(descriptor)
            forks[pid] = int(number)
            control.sendall(struct.pack("<cQi", b"F", forks[pid], pid))
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    break
                if pid in forks:
                    control.sendall(struct.pack("<cQi", b"E", forks.pop(pid), status))


def enter(cwd, environment):
    if cwd:
        os.chdir(cwd)
    for name, value in environment:
        if os.environb.get(name) != value:
            os.environb[name] = value
    # Packages that were installed after this interpreter had started.
    user = site.getusersitepackages()
    if user not in sys.path and os.path.isdir(user):
        site.addsitedir(user)


def load(path):
    with open(path, "rb") as file:
        return compile(file.read(), os.fsdecode(path), "exec")


def hide_own_frames(kind, error, trace):
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    sys.__excepthook__(kind, error.with_traceback(trace), trace)


def session():
    control = socket.socket(fileno=os.dup(3))
    os.close(3)
    os.set_inheritable(control.fileno(), False)
    incoming = control.makefile("rb")

    def text():
        value = bytearray()
        while True:
            byte = incoming.read(1)
            if not byte:
                os._exit(0)
            if byte == b"\0":
                return bytes(value)
            value += byte

    while True:
        path, cwd, count = text(), text(), int(text())
        environment = [tuple(text().split(b"=", 1)) for _ in range(count)]
        status = 0
        try:
            enter(cwd, environment)
            sys.argv = [os.fsdecode(path)]
            code = load(path)
            # So that a trace of a function that is called later still shows its lines.
            linecache.getlines(os.fsdecode(path))
            exec(code, sys.modules["__main__"].__dict__)
        except SystemExit as exit:
            status = exit.code if isinstance(exit.code, int) else 0 if exit.code is None else 1
            if status and not isinstance(exit.code, int):
                print(exit.code, file=sys.stderr)
        except BaseException:
            status = 1
            hide_own_frames(*sys.exc_info())
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        control.sendall(b"%d\n" % (status & 255))


def wait():
    """Waits for a program."""
    # Memory that is shared with the parent is copied when it is first written to: what every program writes to is, now.
    enter("", os.environb.items())
    exec(load(os.devnull), {})
    print(end="", flush=True)
    os.close(3)
    read = functools.partial(os.read, 0)
    return fields(read_exactly(read, struct.unpack("<I", read_exactly(read, 4))[0]))


# Looked up once, for all forks.
site.getusersitepackages()
# Programs import from the folder that they start in, not from this one's.
sys.path[0] = ""
sys.excepthook = hide_own_frames
sys.stdout.reconfigure(line_buffering=True)
main = types.ModuleType("__main__")
main.__builtins__ = __builtins__
kind, request = serve()
sys.modules["__main__"] = main
if kind == b"session":
    _, cwd, environment = fields(request)
    enter(cwd, environment)
    session()
path, cwd, environment = wait()
# Copies of a virtual machine have copies of what waited in it, which must not draw the same numbers.
random.seed()
enter(cwd, environment)
sys.argv = [os.fsdecode(path)]
main.__file__ = sys.argv[0]
exec(load(path), main.__dict__)
