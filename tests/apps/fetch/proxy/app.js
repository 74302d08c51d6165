// Passes requests on as they are.
export default {
  fetch(request, env) {
    const url = new URL(request.url);
    return fetch(env.BACKEND + url.pathname + url.search, request);
  },
};
