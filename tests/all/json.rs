//! Bodies that are JSON: `json()` is what `JSON.parse` of the text would be, to the last bit, however often an app has read the
//! like before, and whatever an app has done to the built-ins.

use crate::client::Client;
use crate::folder::Folder;

/// Answers with all that can be told about a value: kinds, order and attributes of properties, bits of numbers.
const APP: &str = r#"
    const bits = new DataView(new ArrayBuffer(8));
    function describe(value) {
      if (typeof value === "number") {
        bits.setFloat64(0, value);
        return "n" + bits.getBigUint64(0).toString(16);
      }
      if (typeof value === "string") {
        let text = "s";
        for (let i = 0; i < value.length; i++) text += value.charCodeAt(i).toString(16) + ".";
        return text;
      }
      if (typeof value !== "object" || value === null) return String(value);
      const list = Array.isArray(value);
      if (Object.getPrototypeOf(value) !== (list ? Array.prototype : Object.prototype)) return "of another kind";
      const members = Reflect.ownKeys(value).map((key) => {
        const { value: member, writable, enumerable, configurable } = Object.getOwnPropertyDescriptor(value, key);
        return `${describe(key)}=${describe(member)}${writable}${enumerable}${configurable}`;
      });
      return (list ? `[${value.length}:` : "{") + members.join() + "}";
    }
    async function said(promise) {
      try {
        return describe(await promise);
      } catch (error) {
        return `${error.constructor === SyntaxError} ${error}`;
      }
    }
    const parsed = async (request) => JSON.parse(await request.text());
    export default {
      async fetch(request) {
        const { pathname } = new URL(request.url);
        if (pathname.endsWith("/text")) return new Response(await said(parsed(request)));
        if (pathname.endsWith("/body")) return new Response(await said((request.body, request.json())));
        if (pathname.endsWith("/echo")) return Response.json(await request.json());
        return new Response(await said(request.json()));
      },
    };
"#;

/// In one piece, so that all of it is there when the handler runs.
fn post(client: &mut Client, path: &str, body: &[u8]) -> String {
    let mut request =
        format!("POST {path} HTTP/1.1\r\nhost: test\r\ncontent-length: {}\r\n\r\n", body.len()).into_bytes();
    request.extend_from_slice(body);
    client.send(request);
    let reply = client.reply();
    assert_eq!(reply.status, 200, "{reply:?}");
    String::from_utf8(reply.body).unwrap()
}

/// Sends it until it is known, and compares each time. After texts that are unusual some are not looked at: these are others.
#[track_caller]
fn same(client: &mut Client, body: &[u8]) {
    let expected = post(client, "/app/text", body);
    for _ in 0..4 {
        post(client, "/app/json", b"[1]");
    }
    for path in ["/app/json", "/app/json", "/app/json", "/app/body", "/app/json"] {
        assert_eq!(post(client, path, body), expected, "{path} of {}", String::from_utf8_lossy(body));
    }
}

/// One worker, which has read as many bodies as it takes to be one that reads many.
fn serve(name: &str, code: &str) -> (Folder, crate::server::Server, Client) {
    let folder = Folder::with(name, &[("app/index.js", code), ("app/manifest.yaml", "maxWorkers: 1\n")]);
    let server = folder.serve(&[]);
    let mut client = server.connect();
    for _ in 0..100 {
        post(&mut client, "/app/json", br#"{"id":1,"name":"x","tags":["a","b"]}"#);
    }
    (folder, server, client)
}

const USUAL: &[&str] = &[
    r#"{"id":7,"title":"a warm hearth","items":[{"n":0,"name":"item 0","price":0.5},{"n":1,"name":"item 1","price":1.5}]}"#,
    r#"[{"a":1,"b":{"a":2,"b":{}}},{"a":null,"b":[]},{"a":[1,2,3,4,5,6,7,8,9,10,11,12],"b":false}]"#,
    r#" { "id" : 12345 , "user" : { "name" : "Ada Lovelace" , "active" : true } , "pad" : "a string of some length, and then some" } "#,
    "[0, -0, 0.0, -0.0, 1e3, 1E-3, 0.1, 268435455, 268435456, -268435456, -268435457, 9007199254740993, 1e400, -1e400, 5e-324]",
    "[1.7976931348623157e308, 2.2250738585072011e-308, 123456789012345678901234567890, 0.30000000000000004, 100.00]",
    r#"["", "a", "sixteen letters.", "seventeen letters", "Zoë", "日本", "😀", "\u007f"]"#,
    r#"{"":1}"#,
    "[]",
    "{}",
    "[[],[[]],{}]",
    "1",
    "-1",
    "\"a\"",
    "true",
    "false",
    "null",
];

const UNUSUAL: &[&str] = &[
    r#"{"a":1,"a":2}"#,
    r#"{"a":1,"b":2,"a":{"a":3}}"#,
    r#"{"__proto__":{"x":1},"a":2}"#,
    r#"{"b":1,"2":1,"a":3,"1":2,"01":4}"#,
    r#"{"constructor":1,"toString":2,"then":3,"length":4}"#,
    r#"["\n\t\"\\\/\b\f\r", "\u00e9", "\ud83d\ude00", "\ud83d", "\udc00x"]"#,
    r#"{"\u0061":1,"a":2}"#,
    r#"{"é":1}"#,
    "\u{feff}[1]",
    "",
    " ",
    "{",
    "[1,]",
    "{\"a\":1,}",
    "[1 2]",
    "01",
    "1.",
    "+1",
    "NaN",
    "undefined",
    "'a'",
    "\"\t\"",
    "tru",
    "[1]x",
    "{\"a\"}",
    "{a:1}",
    "[\"a",
    "/**/1",
    "-",
    "1e",
    "\u{0}",
    "[1]\u{a0}",
];

#[test]
fn json_is_what_json_parse_makes_of_the_text() {
    let (_folder, _server, mut client) = serve("json", APP);
    for text in USUAL.iter().chain(UNUSUAL) {
        same(&mut client, text.as_bytes());
    }
    for bytes in [&b"[\"\xff\"]"[..], b"{\"\xc3\":1}", b"\xff", b"[\"\xed\xa0\x80\"]"] {
        same(&mut client, bytes);
    }
    for depth in [40, 47, 48, 49, 50, 400] {
        same(&mut client, (r#"{"a":["#.repeat(depth) + &"]}".repeat(depth)).as_bytes());
        same(&mut client, ("[".repeat(depth) + &"]".repeat(depth)).as_bytes());
    }
    for length in [8, 9, 31, 32, 33, 63, 64, 65, 1000, 4094, 4095, 4096, 5000] {
        for element in ["1", "0.5", "\"a\"", "{\"k\":null}", "[0]"] {
            let list = vec![element; length].join(",");
            same(&mut client, format!("[{list}]").as_bytes());
        }
    }
    for keys in [1, 20, 64, 65, 200] {
        let members: Vec<String> = (0..keys).map(|n| format!("\"key{n}\":{n}")).collect();
        same(&mut client, format!("{{{}}}", members.join(",")).as_bytes());
    }
}

/// The same numbers in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % end
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    fn value(&mut self, depth: usize) -> String {
        match self.below(if depth > 3 { 4 } else { 7 }) {
            0 => {
                self.one(&["0", "-0", "17", "1.5", "-2.25e-7", "1e21", "4294967296", "123456789.125", "0.1"]).to_owned()
            }
            1 | 2 => format!(
                "\"{}\"",
                self.one(&["", "a", "b", "red", "green", "a longer text than most", "é", "x y", "\\n"])
            ),
            3 => self.one(&["true", "false", "null"]).to_owned(),
            4 => {
                let elements: Vec<String> = (0..self.below(12)).map(|_| self.value(depth + 1)).collect();
                format!("[{}]", elements.join(self.one(&[",", ", ", " ,\n"])))
            }
            _ => {
                let members: Vec<String> = (0..self.below(5))
                    .map(|_| {
                        let key = self.one(&["a", "b", "c", "id", "name", "__proto__", "0", "value"]);
                        format!("\"{key}\":{}", self.value(depth + 1))
                    })
                    .collect();
                format!("{{{}}}", members.join(","))
            }
        }
    }
}

#[test]
fn random_texts_and_their_mutations_are_read_alike() {
    let (_folder, _server, mut client) = serve("json-random", APP);
    let mut random = Random(7);
    for _ in 0..250 {
        let mut text = random.value(0).into_bytes();
        same(&mut client, &text);
        for _ in 0..=random.below(2) {
            let place = random.below(text.len());
            match random.below(3) {
                0 => {
                    text[place] =
                        random.one(&["\"", ",", "}", "]", "[", "{", ":", "\\", "0", " ", "e", "\u{1}"]).as_bytes()[0]
                }
                1 => drop(text.remove(place)),
                _ => text.insert(place, text[place]),
            }
            if text.is_empty() {
                break;
            }
        }
        same(&mut client, &text);
    }
}

/// Setters and overwritten built-ins are the app's own affair, and json() does not call them.
#[test]
fn an_app_that_changes_built_ins_gets_the_same_values() {
    let spoiled = r#"
        for (const name of ["a", "b", "n", "0", "1", "40", "70"]) {
          for (const prototype of [Object.prototype, Array.prototype]) {
            Object.defineProperty(prototype, name, { set() { throw new Error("a setter ran"); }, get: () => "inherited", configurable: true });
          }
        }
        Array.from = Array.prototype.push = Array.prototype[Symbol.iterator] = String.prototype.substring = JSON.parse = () => {
          throw new Error("a built-in of the app ran");
        };
        const own = Object.getOwnPropertyNames, at = Reflect.get;
        export default {
          async fetch(request) {
            const value = await request.json();
            const names = own(value);
            let text = "";
            for (let i = 0; i < names.length; i++) {
              if (names[i] === "length") continue;
              const one = value[names[i]];
              text += names[i] + "=" + (typeof one === "object" && one !== null ? own(one) : one) + ";";
            }
            return new Response(text);
          },
        };
    "#;
    let (_folder, _server, mut client) = serve("json-spoiled", spoiled);
    for _ in 0..8 {
        assert_eq!(post(&mut client, "/app/", br#"{"a":1,"b":"x","n":null}"#), "a=1;b=x;n=null;");
        assert_eq!(post(&mut client, "/app/", br#"["x","y",{"a":1}]"#), "0=x;1=y;2=a;");
        for length in [50, 80] {
            let list = vec!["5"; length].join(",");
            let expected: String = (0..length).map(|n| format!("{n}=5;")).collect();
            assert_eq!(post(&mut client, "/app/", format!("[{list}]").as_bytes()), expected);
        }
    }
}

/// An app that is sent ever new names.
#[test]
fn tables_by_names_are_read_however_many_there_are() {
    let (_folder, _server, mut client) = serve("json-names", APP);
    for n in 0..300 {
        let text = format!(r#"{{"user-{n}":{{"id":{n},"field{n}":"value {n}"}}}}"#);
        assert_eq!(post(&mut client, "/app/echo", text.as_bytes()), text);
    }
}

/// A body that comes in pieces goes by another way, to the same end.
#[test]
fn bodies_in_pieces_are_read_alike() {
    let (_folder, _server, mut client) = serve("json-pieces", APP);
    for text in USUAL.iter().chain(UNUSUAL) {
        if text.is_empty() {
            continue;
        }
        let expected = post(&mut client, "/app/text", text.as_bytes());
        for _ in 0..3 {
            client.start_chunked("/app/json");
            let (first, rest) = text.as_bytes().split_at(text.len() / 2);
            for piece in [first, rest] {
                if !piece.is_empty() {
                    client.send_chunk(piece);
                }
            }
            client.send_last_chunk();
            assert_eq!(String::from_utf8(client.reply().body).unwrap(), expected, "{text}");
        }
    }
}
