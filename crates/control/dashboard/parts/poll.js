// Polls: at once, and then some seconds after each response. A hidden tab does not poll; it polls at once when it is shown
// again.

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
