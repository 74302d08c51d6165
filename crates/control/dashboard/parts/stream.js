// Server-sent events for as long as a view wants them. The server begins with what it has kept, each time anew, so who
// listens throws away what it has when the stream opens again.

const AGAIN = 3000;

/** `opened` is called at each beginning, `each` with an event's name and data, `lost` when the stream breaks. */
export function follow(signal, path, names, { opened, each, lost }) {
  let source;
  let timer;
  const open = () => {
    source = new EventSource(path);
    source.addEventListener("open", opened);
    for (const name of names) source.addEventListener(name, (event) => each(name, JSON.parse(event.data)));
    source.addEventListener("error", () => {
      lost();
      // Broken streams come back by themselves; those that were refused do not.
      if (source.readyState === EventSource.CLOSED && !signal.aborted) timer = setTimeout(open, AGAIN);
    });
  };
  signal.addEventListener("abort", () => {
    clearTimeout(timer);
    source.close();
  });
  open();
}
