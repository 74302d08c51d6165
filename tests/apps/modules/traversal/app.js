// Every way out of the app's folder.
const tried = async (specifier, options) => {
  try {
    await import(specifier, options);
    return "loaded";
  } catch (error) {
    return error.name;
  }
};
export default {
  async fetch(request) {
    const specifier = decodeURIComponent(new URL(request.url).pathname.slice(1));
    return new Response([await tried(specifier), await tried(specifier, { with: { type: "text" } })].join());
  },
};
