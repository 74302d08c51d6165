"use strict";
// The signals of Linux on x86-64 by their names, as os.constants.signals has them.

const names = [
  "SIGHUP", "SIGINT", "SIGQUIT", "SIGILL", "SIGTRAP", "SIGABRT", "SIGBUS", "SIGFPE", "SIGKILL", "SIGUSR1", "SIGSEGV",
  "SIGUSR2", "SIGPIPE", "SIGALRM", "SIGTERM", "SIGSTKFLT", "SIGCHLD", "SIGCONT", "SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU",
  "SIGURG", "SIGXCPU", "SIGXFSZ", "SIGVTALRM", "SIGPROF", "SIGWINCH", "SIGIO", "SIGPWR", "SIGSYS",
];
const signals = { __proto__: null };
for (let i = 0; i < names.length; i++) signals[names[i]] = i + 1;
Object.assign(signals, { SIGIOT: 6, SIGPOLL: 29 });

module.exports = { signals: Object.freeze(signals) };
