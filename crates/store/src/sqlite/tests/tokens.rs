//! Tokens of apps.

use super::*;
use crate::{StoreError, TokenHash, TokenId, Tokens};

#[test]
fn shown_once_and_recognised_later() {
    let mut fixture = Fixture::new();
    let (id, token) = fixture.store().add_token(&shop(), "ci").unwrap();
    assert!(token.reveal().starts_with("hearth_") && token.reveal().len() == 71);
    assert_eq!(format!("{token:?}"), "PlainToken(…)");
    let (other, _) = fixture.store().add_token(&shop(), "phone").unwrap();
    fixture.reopen();
    let tokens = fixture.store().tokens(&shop()).unwrap();
    let told: Vec<_> = tokens.iter().map(|t| (t.id, t.label.as_str())).collect();
    assert_eq!(told, [(id, "ci"), (other, "phone")]);
    let hashes = fixture.store().token_hashes(&shop()).unwrap();
    assert_eq!(hashes.len(), 2);
    assert!(
        hashes.contains(&TokenHash::from_token(token.reveal())) && !hashes.contains(&TokenHash::from_token("hearth_"))
    );
    let bytes = std::fs::read(fixture.data().join("hearth.db")).unwrap();
    assert!(!bytes.windows(64).any(|window| window == &token.reveal().as_bytes()[7..]));
}

#[test]
fn deleted_by_its_own_app_only_and_ids_are_not_reused() {
    let fixture = Fixture::new();
    let (id, _) = fixture.store().add_token(&shop(), "").unwrap();
    let wrong = [(AppName::new("blog"), id), (shop(), TokenId(99)), (shop(), TokenId(u64::MAX))];
    for (app, id) in wrong {
        let error = fixture.store().delete_token(&app, id).unwrap_err();
        assert!(matches!(error, StoreError::NoToken { .. }), "{error}");
    }
    fixture.store().delete_token(&shop(), id).unwrap();
    assert!(fixture.store().tokens(&shop()).unwrap().is_empty());
    assert!(fixture.store().token_hashes(&shop()).unwrap().is_empty());
    assert!(fixture.store().add_token(&shop(), "").unwrap().0 > id);
}
