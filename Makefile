# The two that matter: `make run` and `make test`. Each sets up what it needs.

.PHONY: run test lint fmt bench release soak chaos setup setup-tests

run: setup
	cargo run --locked --release --bin hearth -- serve examples --listen 127.0.0.1:8080 --admin 127.0.0.1:9090

test: setup-tests lint
	cargo build --locked -p hearth-embed --examples
	cargo test --locked -p hearth-embed --doc
	cargo test --locked --workspace --lib --bins --tests --no-fail-fast

lint: setup
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	tools/lint/names
	tools/lint/words
	tools/lint/crates
	tools/lint/deny

fmt:
	cargo fmt --all

bench: setup
	cargo bench --locked --workspace

# The fastest program, built by what it does under load: target/trained/release/hearth.
release:
	tools/release

# Minutes of everything that can be done to a server, in every way of running: SOAK_SECONDS (180), SOAK_SEED.
soak: setup
	cargo test --locked --release -p hearth --test soak

# Minutes of faults under load (crashes, kills, freezes, stuck apps, deploys, reloads): CHAOS_SECONDS (300), CHAOS_SEED.
chaos: setup
	cargo test --locked --release -p hearth --test chaos

setup:
	tools/setup

# Also what only the tests need: a browser, openssl.
setup-tests:
	tools/setup tests
