// Server-sent events for as long as a view wants them. The server begins each stream with all that it has kept,
// so a view discards its items when the stream is opened again.

const AGAIN = 3000;

/** `opened` is called each time the stream opens, `each` with an event's name and data, `lost` when the stream breaks. */
export function follow(signal, path, names, { opened, each, lost }) {
  let source;
  let timer;
  const open = () => {
    source = new EventSource(path);
    source.addEventListener("open", opened);
    for (const name of names) source.addEventListener(name, (event) => each(name, JSON.parse(event.data)));
    source.addEventListener("error", () => {
      lost();
      // The browser reopens broken streams, but not refused ones.
      if (source.readyState === EventSource.CLOSED && !signal.aborted) timer = setTimeout(open, AGAIN);
    });
  };
  signal.addEventListener("abort", () => {
    clearTimeout(timer);
    source.close();
  });
  open();
}
