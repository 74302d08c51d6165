//! Modules: how they are found, what they may be, and that none comes from outside the app's folder.

use std::path::Path;

use crate::server::{apps, scratch, serve, serve_alone, serve_file};

#[test]
fn relative_imports() {
    serve("modules/relative").expect("/", "names,42,answer+name,names");
}

#[test]
fn packages_by_name_and_by_their_exports() {
    serve("modules/bare").expect("/", "plain,scoped,sub,worker,feature one,internal");
}

#[test]
fn what_a_package_does_not_export_stays_hidden() {
    let server = serve("modules/exports_hidden");
    server.get("/").assert_error(502, "load_failed", &[]);
    let line = server.wait_log("App failed to start");
    assert!(line.contains("closed/secret.js"), "{line}");
}

#[test]
fn common_js_packages() {
    let names = "Class+cycle+default+inner+named";
    let class = "class of 1.0.0 in true true";
    let expected = ["named", "named", class, "inner", names, "compiled", "production", "1.0.0", "cycle saw named"];
    let reply = serve("modules/commonjs").get("/");
    // Node's `module.exports` name is there or not.
    assert_eq!(reply.text().replace("+module.exports", ""), expected.join(","));
}

#[test]
fn require_gives_a_built_in_module_itself() {
    serve("modules/commonjs_built_in").expect("/", "function,changed,true");
}

#[test]
fn module_and_require_are_as_packages_read_them() {
    serve("modules/commonjs_module").expect("/", "main,classes,cache,missing,watched,compiled,hostile");
}

#[test]
fn json_text_bytes_and_wasm() {
    serve("modules/data").expect("/", "2,data,a note ü,<p>page</p>,throw 1,0-1-254-255,10,true,42");
}

#[test]
fn dynamic_imports() {
    let server = serve_alone("modules/dynamic");
    for (path, expected) in [
        ("/literal", "1"),
        ("/computed", "1"),
        ("/json", "json"),
        ("/waits", "waited"),
        ("/same", "true"),
        ("/evaluated", "1"),
        ("/throws", "RangeError: thrown by a module"),
        ("/throws_again", "true"),
    ] {
        server.expect(path, expected);
    }
    for (path, kind, part) in [
        ("/missing", "TypeError: ", "./missing.js"),
        ("/broken", "SyntaxError: ", "/broken.js"),
        ("/attribute", "", "css"),
    ] {
        let reply = server.get(path);
        assert!(reply.text().starts_with(kind) && reply.text().contains(part), "{path}: {}", reply.text());
    }
}

#[test]
fn top_level_await() {
    serve("modules/top_level_await").expect("/", "slow,timer");
}

#[test]
fn cycles() {
    serve("modules/cycle").expect("/", "true,false,app");
}

#[test]
fn import_meta_says_where_in_the_app_a_module_is() {
    serve("modules/meta").expect("/", "file:///app.js,/app.js,/,/lib");
}

#[test]
fn unknown_attributes_are_refused() {
    let server = serve("modules/attributes");
    server.get("/").assert_error(502, "load_failed", &[]);
    server.wait_log("css");
}

#[test]
fn broken_json_is_reported() {
    let server = serve("modules/json_broken");
    server.get("/").assert_error(502, "load_failed", &[]);
    let line = server.wait_log("App failed to start");
    assert!(line.contains("JSON"), "{line}");
}

#[test]
fn a_missing_export_is_reported_with_its_place() {
    let server = serve("modules/missing_export");
    server.get("/").assert_error(502, "load_failed", &[]);
    let line = server.wait_log("App failed to start");
    assert!(line.contains("absent") && line.contains("./some.js"), "{line}");
    server.wait_log("/app.js:1:");
}

/// Paths that lead out of the folder, plain and in disguise.
#[test]
fn nothing_outside_the_folder_is_read() {
    let server = serve("modules/traversal");
    for specifier in [
        "../relative/app.js",
        "./../relative/app.js",
        "/../../../../etc/passwd",
        "../../../../../../../../etc/passwd",
        "/etc/passwd",
        "file:///etc/passwd",
        "./%2e%2e/relative/app.js",
        "..%2frelative%2fapp.js",
        "%252e%252e/relative/app.js",
        "%25252e%25252e/relative/app.js",
        "./\0/../../relative/app.js",
        "..\\relative\\app.js",
        "../traversal_static/../relative/app.js",
        "relative",
        "relative/../../relative/app.js",
        "http://127.0.0.1/app.js",
        "node:nothing",
        "data:text/javascript,1",
        "ext:core/ops",
        "hearth:inspect",
        "internal:primordials",
    ] {
        let path: String = specifier.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let reply = server.get(&format!("/{path}"));
        let errors: Vec<_> = reply.text().split(',').collect();
        assert!(errors.len() == 2 && errors.iter().all(|name| name.ends_with("Error")), "{specifier:?}: {reply:?}");
    }
}

#[test]
fn a_static_import_from_outside_is_reported() {
    let server = serve("modules/traversal_static");
    server.get("/").assert_error(502, "load_failed", &[]);
    let line = server.wait_log("App failed to start");
    assert!(line.contains("../relative/app.js") && line.contains("outside the app's folder"), "{line}");
}

#[test]
fn a_link_out_of_the_folder_is_not_followed() {
    let folder = scratch("links");
    let app = folder.join("app");
    std::fs::create_dir(&app).unwrap();
    std::fs::write(folder.join("secret.js"), "export default 'secret'").unwrap();
    std::fs::copy(apps().join("modules/traversal/app.js"), app.join("app.js")).unwrap();
    std::os::unix::fs::symlink("../secret.js", app.join("link.js")).unwrap();
    std::os::unix::fs::symlink("..", app.join("up")).unwrap();
    let server = serve_file(&app.join("app.js"), &[]);
    for path in ["./link.js", "./up/secret.js", "./up/../../secret.js"] {
        let reply = server.get(&format!("/{}", path.replace('/', "%2f")));
        assert_eq!(reply.text(), "TypeError,TypeError", "{path}");
    }
}

#[test]
fn the_folder_of_an_app_is_the_nearest_with_a_manifest() {
    let folder = scratch("nearest");
    let write = |path: &str, text: &str| {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("package.json", "{}");
    write("lib.js", "export default 'from above'");
    write("src/deep/app.js", "import lib from '../../lib.js'; export default { fetch: () => new Response(lib) }");
    serve_file(&folder.join(Path::new("src/deep/app.js")), &[]).expect("/", "from above");
    write("src/manifest.yaml", "");
    let server = serve_file(&folder.join(Path::new("src/deep/app.js")), &[]);
    server.get("/").assert_error(502, "load_failed", &[]);
    server.wait_log("outside the app's folder");
}

#[test]
fn typescript() {
    serve("modules/typescript").expect("/", "triangle red,42,8,High,2,true,true,later");
}

#[test]
fn tsx() {
    let reply = serve("modules/tsx").get("/Ada");
    assert_eq!(reply.text(), "<b class=\"name\">Hello Ada!</b><ul><li>1</li><li>2</li></ul>");
}

#[test]
fn stacks_show_what_people_wrote() {
    let server = serve("modules/stack");
    let reply = server.get("/sync");
    let stack = reply.text();
    assert!(stack.starts_with("Error: failed sync\n"), "{stack}");
    assert!(stack.contains("/fail.ts:8:30") && stack.contains("/app.ts:10:13"), "{stack}");
    let reply = server.get("/async");
    assert!(reply.text().contains("/fail.ts:8:30"), "{}", reply.text());
}

#[test]
fn scripts() {
    serve("modules/script").expect("/", "number 1 false");
}
