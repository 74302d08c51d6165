export const prerender = true;
// Written as about/index.html.
export const trailingSlash = "always";
