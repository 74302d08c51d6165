// Holds on to what it is told to: ?mb=N
const kept = [];
export default {
  fetch(request) {
    const mb = Number(new URL(request.url).searchParams.get("mb"));
    for (let n = 0; n < mb * 8; n++) kept.push(new Array(16384).fill(n + 0.5));
    return new Response(String(kept.length));
  },
};
