export default {
  fetch(request) {
    if (request.url.endsWith("/loop")) {
      console.log("looping");
      for (;;);
    }
    return new Response("fine");
  },
};
