export default {
  fetch(request) {
    if (new URL(request.url).pathname === "/loop") for (;;);
    return new Response("answered");
  },
  onTerminate() {
    console.log("begins to end");
    return new Promise(() => {});
  },
};
