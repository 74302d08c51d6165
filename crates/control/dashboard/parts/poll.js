// Asks again and again: at once, and then each time some seconds after the last answer. Nobody looks at a tab that is
// hidden, so nothing is asked for it; it is asked at once when somebody looks again.

export async function poll(signal, seconds, ask) {
  while (!signal.aborted) {
    if (document.hidden) await shown(signal);
    if (signal.aborted) return;
    await ask();
    await pause(signal, seconds * 1000);
  }
}

function shown(signal) {
  return new Promise((resolve) => {
    const look = () => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener("visibilitychange", look);
      signal.removeEventListener("abort", look);
      resolve();
    };
    document.addEventListener("visibilitychange", look);
    signal.addEventListener("abort", look);
  });
}

function pause(signal, time) {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, time);
    signal.addEventListener("abort", done);
  });
}
