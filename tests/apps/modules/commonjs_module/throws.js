exports.loaded = true;
throw new Error("cannot find it");
