interface Settings {
  url: string;
}

function connect(settings: Settings): never {
  throw new Error(`cannot reach ${settings.url}`);
}

export default { fetch: () => new Response(connect({ url: "db.internal" })) };

connect({ url: "db.internal" });
