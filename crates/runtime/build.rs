//! Links V8's shared library where `tools/setup` had to take V8 from the package registries (see `tools/v8/README.md`).
//! With the `v8` crate's own prebuilt library there is nothing to do.

fn main() {
    println!("cargo:rerun-if-env-changed=V8_SHARED_DIR");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-check-cfg=cfg(v8_shared)");
    if let Ok(dir) = std::env::var("V8_SHARED_DIR") {
        println!("cargo:rustc-cfg=v8_shared");
        // Must come before libc in the link order, for it brings its own malloc: only link-lib lines do.
        println!("cargo:rustc-link-search=native={dir}");
        println!("cargo:rustc-link-lib=dylib=mini_racer");
        println!("cargo:rustc-link-lib=dylib=stdc++");
    }
}
