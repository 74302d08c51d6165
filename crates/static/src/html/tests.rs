#![allow(clippy::unwrap_used)]
use super::*;

/// The page with a bar at the insertion point.
fn marked(page: &str) -> String {
    let outline = outline(page.as_bytes());
    let (before, after) = page.split_at(outline.head);
    format!("{before}|{after}")
}

#[test]
fn the_head_is_found_in_all_spellings() {
    for page in [
        "<!doctype html><html><head>|<title>x</title></head></html>",
        "<!DOCTYPE html>\n<html lang=en>\n<HEAD>|\n</HEAD>",
        "<head lang=\"en\">|<meta charset=utf-8>",
        "<head a='>' b=\">\" c>|<title>",
        "<head\n\tdata-x = 1 / y>|x",
        "<head/>|x",
        "<html><head a\"b>|<x y=\"\">",
        "<!-- <head> --><html><head>|</head>",
        "<!-- <head> -- > <head> --><head>|",
        "<!--><head>|-->",
        "<!---><head>|-->",
        "<!-- a --!><head>|",
        "<!-- a -- ><head>--><head>|",
        "<?xml version='1.0'?><!DOCTYPE html><head>|",
        "<html a='<head>'><head>|",
        "</p><head>|",
        "</ ><head>|",
        "\u{feff}<head>|<title>",
        "\u{feff}<!doctype html>\n|<p>",
        "<head>|<head>",
        "<html><html><head>|",
    ] {
        assert_eq!(marked(&page.replace('|', "")), page);
    }
}

#[test]
fn without_a_head_the_insertion_point_is_before_the_first_content() {
    for page in [
        "|",
        " \n|",
        "|hello",
        "|hello <head>",
        "<!doctype html>\n|<title>x</title>",
        "<html>\n|<body><head>",
        "<!doctype html><html>|<header>x</header>",
        "<!doctype html><!-- <head> -->|<headline>",
        "|</head><head>",
        "|</br><head>",
        "|<script>'<head>'</script>",
        "|< head>",
        "|<<head>",
        "|&nbsp;<head>",
        "<!-- never closed <head>|",
        "<!doctype html|",
        "|</",
        "<html|",
        "<html a='<head>|",
    ] {
        assert_eq!(marked(&page.replace('|', "")), page);
    }
}

#[test]
fn a_base_of_the_page_is_found() {
    let base = |page: &str| outline(page.as_bytes()).base;
    for page in [
        "<head><base href=\"/x/\"></head>",
        "<head><title>a</title><BASE\nHREF=x>",
        "<head></head><body><base target=_top href='/'>",
        "<base href>",
        "<head><script>1</script><base href=/>",
    ] {
        assert_eq!(base(page), OwnBase::Set, "{page}");
    }
    for page in [
        "<head></head>",
        "<head><base target=\"_blank\">",
        "<head><!-- <base href='/'> -->",
        "<head><script>'<base href=\"/\">'</script>",
        "<head><style>/* <base href=/> */</style>",
        "<head><title><base href=/></title>",
        "<head><title></titles><base href=/></title>",
        "<head><noscript><base href=/></noscript>",
        "<head><textarea><base href=/>",
        "<head><basefont href=/>",
        "<head><meta content='<base href=/>'>",
        "<head><base data-href=/>",
        "<plaintext><base href=/>",
        "<head></base href=/>",
    ] {
        assert_eq!(base(page), OwnBase::Unset, "{page}");
    }
}

/// A generator with a fixed seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }
}

#[test]
fn any_bytes_have_an_insertion_point() {
    const PARTS: [&str; 30] = [
        "<",
        ">",
        "</",
        "/>",
        "<!",
        "<!--",
        "-->",
        "--!>",
        "-",
        "=",
        "\"",
        "'",
        " ",
        "\n",
        "head",
        "<head",
        "<HEAD lang=x>",
        "<html>",
        "<base",
        " href=",
        "<script>",
        "</script>",
        "</script",
        "<title>",
        "x",
        "é",
        "\u{feff}",
        "\0",
        "<?",
        "&",
    ];
    let mut dice = Dice(7);
    for _ in 0..20_000 {
        let mut page = Vec::new();
        for _ in 0..dice.roll(24) {
            match dice.roll(12) {
                0 => page.push(dice.roll(256) as u8),
                _ => page.extend_from_slice(PARTS[dice.roll(PARTS.len())].as_bytes()),
            }
        }
        let outline = outline(&page);
        assert!(outline.head <= page.len());
        // Every prefix of a page is a page, too.
        for end in 0..page.len() {
            assert!(super::outline(&page[..end]).head <= end);
        }
    }
}
