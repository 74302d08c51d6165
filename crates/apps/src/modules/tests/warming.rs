//! Caching: a loaded module stays, and `preload` loads all modules.

use super::super::Grade;
use super::*;

#[test]
fn the_same_module_each_time() {
    let app = App::new(&[("main.js", "export {}"), ("a.json", "{}")]);
    let (first, second) = (app.load("/main.js").unwrap(), app.load("/main.js").unwrap());
    assert!(Arc::ptr_eq(&first, &second));
    let json = app.load("/a.json").unwrap();
    let text = app.load_as("/a.json", ImportType::Text).unwrap();
    assert_eq!((code(&json).0, code(&text).0), ("json", "text"));
    assert!(Arc::ptr_eq(&text, &app.load_as("/a.json", ImportType::Text).unwrap()));
}

#[test]
fn threads_share_a_load() {
    let app = App::new(&[("main.ts", "export const a: number = 1")]);
    let loaded: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| app.load("/main.ts").unwrap())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(loaded.iter().all(|module| Arc::ptr_eq(module, &loaded[0])));
}

#[test]
fn nothing_is_read_after_preloading() {
    let app = App::new(&[
        ("src/main.ts", "import { a } from './a.js'; import j from '../d.json' with { type: 'json' };
            import t from './t.sql'; import('./lazy.ts'); import('./none.ts'); import(x); export { a, j, t }; export * from 'pkg'"),
        ("src/a.ts", "import './main.ts'; export const a: number = 1"),
        ("src/lazy.ts", "import './none2'; export {}"),
        ("src/t.sql", "select 1"),
        ("d.json", "{}"),
        ("node_modules/pkg/index.js", "exports.x = require('./x'); try { require('optional') } catch {} exports.b = require('./broken')"),
        ("node_modules/pkg/x.js", "exports.deep = require('./y.json')"),
        ("node_modules/pkg/y.json", "{}"),
        ("node_modules/pkg/broken.js", "}"),
    ]);
    // lazy.ts counts, though its import is missing; broken.js does not.
    assert_eq!(app.modules.preload().unwrap(), 8);
    assert_eq!(app.modules.preload().unwrap(), 8);
    fs::rename(app.path(""), app.folder.path().join("moved")).unwrap();
    assert_eq!(app.import("./a.js", "/src/main.ts"), "/src/a.ts");
    assert_eq!(app.import("pkg", "/src/main.ts"), "/node_modules/pkg/index.js");
    assert_eq!(app.require("./x", "/node_modules/pkg/index.js"), "/node_modules/pkg/x.js");
    for id in ["/src/main.ts", "/src/a.ts", "/src/t.sql", "/node_modules/pkg/y.json", "/src/lazy.ts"] {
        assert!(app.load(id).is_ok(), "{id}");
    }
    assert!(app.load_as("/d.json", ImportType::Json).is_ok());
    assert!(matches!(app.load("/node_modules/pkg/broken.js"), Err(ModuleError::Syntax { .. })));
}

#[test]
fn missing_static_imports_are_errors() {
    let app = App::new(&[("main.js", "import './a.js'"), ("a.js", "import './none.js'")]);
    assert!(matches!(app.modules.preload(), Err(ModuleError::NotFound { from, .. }) if from == "/a.js"));
    let app = App::new(&[("main.js", "import './a.js'"), ("a.js", "}")]);
    assert!(matches!(app.modules.preload(), Err(ModuleError::Syntax { .. })));
    let app = App::new(&[("main.js", "import './a.png'"), ("a.png", "")]);
    assert!(matches!(app.modules.preload(), Err(ModuleError::WrongType { .. })));
}

#[test]
fn all_faults_are_reported_and_optional_ones_come_last() {
    let app = App::new(&[
        ("main.js", "import './none.js'; import 'gone'; import 'pkg'; try { await import('./maybe.js') } catch {}"),
        ("node_modules/pkg/package.json", "{}"),
        ("node_modules/pkg/index.js", "require('missing'); module.exports = 1"),
    ]);
    let faults: Vec<_> = app.modules.faults().into_iter().map(|fault| (fault.grade, fault.error.to_string())).collect();
    let named = |grade, name: &str| faults.iter().any(|(of, text)| *of == grade && text.contains(name));
    assert_eq!(faults.len(), 4, "{faults:?}");
    assert!(named(Grade::Fatal, "./none.js") && named(Grade::Fatal, "gone"), "{faults:?}");
    assert!(named(Grade::Possible, "\"missing\"") && named(Grade::Possible, "./maybe.js"), "{faults:?}");
    assert!(faults[..2].iter().all(|(grade, _)| *grade == Grade::Fatal));
}

#[test]
fn attributes_are_read_from_imports() {
    let app = App::new(&[
        ("main.js", "import a from './a.ts' with { type: 'text' }; export { default as b } from './b.png' with { 'type': 'bytes' };
            import('./c', { with: { type: 'text' } }); import('./a.ts', options)"),
        ("a.ts", "not code"),
        ("b.png", ""),
        ("c.json", ""),
    ]);
    assert_eq!(app.modules.preload().unwrap(), 4);
    let loaded: Vec<_> = app.modules.loaded().into_iter().map(|(id, what)| format!("{id} {what}")).collect();
    for expected in ["/a.ts text", "/b.png bytes", "/c.json text"] {
        assert!(loaded.iter().any(|line| line == expected), "{loaded:?}");
    }
}
