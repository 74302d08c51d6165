// A classic script: no imports, no exports, and what it declares is global.
var count = 0;
addEventListener("fetch", (event) => event.respondWith(new Response(`${typeof globalThis.count} ${++count} ${this === undefined}`)));
