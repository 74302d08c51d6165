let count = 0;
export default {
  fetch(request) {
    while (request.url.endsWith("/loop"));
    return new Response(`${++count}`);
  },
};
