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
import array, ast, atexit, base64, collections, contextlib, copy, csv, datetime, functools, gc, hashlib, io, itertools, json
import linecache, math, operator, os, pathlib, random, re, select, signal, site, socket, string, struct, subprocess, sys
import tempfile, textwrap, threading, time, traceback, types, typing, urllib.parse, warnings


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

    running = False

    # An interrupt ends what runs, and not the session.
    def interrupt(*_):
        if running:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    while True:
        path, cwd, count = text(), text(), int(text())
        environment = [tuple(text().split(b"=", 1)) for _ in range(count)]
        status = 0
        try:
            enter(cwd, environment)
            sys.argv = [os.fsdecode(path)]
            running = True
            try:
                notebook.run(os.fsdecode(path))
            finally:
                running = False
        except SystemExit as exit:
            status = exit.code if isinstance(exit.code, int) else 0 if exit.code is None else 1
            if status and not isinstance(exit.code, int):
                print(exit.code, file=sys.stderr)
        except BaseException:
            status = 1
            running = False
            hide_own_frames(*sys.exc_info())
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        control.sendall(b"%d\n" % (status & 255))


class Notebook:
    """What is shown of a session's runs, as a notebook does: the value of the last expression, what `display` is given, and
    figures. Text goes to stdout; other forms go into files, named in the order in which they came, by what they are:

        FOLDER/0001.png, FOLDER/0001.html, …
    """

    FORMS = [
        ("_repr_png_", "png"),
        ("_repr_jpeg_", "jpg"),
        ("_repr_svg_", "svg"),
        ("_repr_html_", "html"),
        ("_repr_markdown_", "md"),
        ("_repr_latex_", "tex"),
        ("_repr_json_", "json"),
    ]
    LARGEST = 8 << 20

    def __init__(self, folder):
        self.folder, self.count = folder, 0
        # Figures that were shown in this run already.
        self.drawn = set()
        # No window can be opened here.
        os.environ.setdefault("MPLBACKEND", "Agg")

    def run(self, path):
        main = sys.modules["__main__"].__dict__
        with open(path, "rb") as file:
            source = file.read()
        # So that a trace of a function that is called later still shows its lines.
        linecache.getlines(path)
        tree = compile(source, path, "exec", ast.PyCF_ONLY_AST)
        last = tree.body[-1] if tree.body else None
        is_shown = isinstance(last, ast.Expr) and not source.rstrip().endswith(b";")
        if is_shown:
            tree.body.pop()
        exec(compile(tree, path, "exec"), main)
        if is_shown:
            value = eval(compile(ast.Expression(last.value), path, "eval"), main)
            if value is not None:
                main["_"] = value
                self.display(value)
        self.figures()
        self.drawn.clear()

    def display(self, *values):
        for value in values:
            self.count += 1
            print(repr(value), flush=True)
            for method, extension in self.FORMS:
                # Classes have methods for their instances.
                form = None if isinstance(value, type) else getattr(value, method, None)
                if callable(form):
                    with contextlib.suppress(Exception):
                        self.keep(form(), extension)
            if type(value).__module__.startswith("matplotlib.") and hasattr(value, "savefig"):
                self.figure(value)

    def figure(self, figure):
        data = io.BytesIO()
        if id(figure) in self.drawn:
            return
        self.drawn.add(id(figure))
        figure.savefig(data, format="png", bbox_inches="tight")
        self.keep(data.getvalue(), "png")

    def figures(self):
        """Those that are open, which are closed."""
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is None or not hasattr(pyplot, "get_fignums"):
            return
        for number in pyplot.get_fignums():
            self.count += 1
            self.figure(pyplot.figure(number))
        pyplot.close("all")

    def keep(self, data, extension):
        if isinstance(data, tuple):
            # With what describes it.
            data = data[0]
        if data is None:
            return
        if extension == "json":
            data = json.dumps(data)
        if isinstance(data, str):
            data = base64.b64decode(data) if extension in ("png", "jpg") else data.encode()
        if len(data) > self.LARGEST:
            print(f"[{len(data)} bytes of {extension} are too many to show]", file=sys.stderr)
            return
        os.makedirs(self.folder, exist_ok=True)
        with open(os.path.join(self.folder, f"{self.count:04}.{extension}"), "wb") as file:
            file.write(data)


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
    name = dict(environment).pop(b"HEARTH_SESSION", b"")
    notebook = Notebook(os.path.join("/tmp/.hearth/shown", os.fsdecode(name)))
    main.display = notebook.display
    enter(cwd, [pair for pair in environment if pair[0] != b"HEARTH_SESSION"])
    warnings.filterwarnings("ignore", message=".*non-interactive.*cannot be shown.*")
    session()
path, cwd, environment = wait()
# Copies of a virtual machine have copies of what waited in it, which must not draw the same numbers.
random.seed()
enter(cwd, environment)
sys.argv = [os.fsdecode(path)]
main.__file__ = sys.argv[0]
exec(load(path), main.__dict__)
