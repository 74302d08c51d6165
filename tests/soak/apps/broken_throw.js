// Fails while it is evaluated, with a timer under way.
setInterval(() => {}, 1);
throw new Error("thrown by the module");
