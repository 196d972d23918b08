//! The project's own rules for its files, each a small function over the tree of files. A rule that has an exception
//! keeps it in its own list, with the reason.

mod crates;
mod deploy;
mod docs;
mod long_functions;
mod packages;
mod reference;
mod retired;
mod rust;
mod sql;
mod words;

use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};

/// The text files of the project, and what is wrong with them.
pub(crate) struct Tree {
    root: PathBuf,
    files: Vec<File>,
    findings: Vec<String>,
}

/// A text file.
struct File {
    /// Its path from the workspace's folder on, with slashes.
    path: String,
    text: String,
}

pub(crate) use reference::write as write_reference;

/// Checks every rule and prints what breaks one. Whether nothing does.
pub(crate) fn run(root: &Path) -> bool {
    let mut tree = Tree::read(root);
    let rules = [
        rust::check,
        sql::check,
        long_functions::check,
        words::check,
        retired::check,
        crates::check,
        docs::check,
        packages::check,
        deploy::check,
    ];
    for rule in rules.into_iter().chain([reference::check as fn(&mut Tree)]) {
        rule(&mut tree);
    }
    for finding in &tree.findings {
        println!("{finding}");
    }
    println!("tidy: {} files, {} findings", tree.files.len(), tree.findings.len());
    tree.findings.is_empty()
}

impl Tree {
    fn read(root: &Path) -> Self {
        let mut tree = Self { root: root.to_path_buf(), files: Vec::new(), findings: Vec::new() };
        tree.read_folder(root);
        tree.files.sort_by(|a, b| a.path.cmp(&b.path));
        tree
    }

    fn read_folder(&mut self, folder: &Path) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            if path.is_dir() {
                // A folder behind a link is read where it is.
                if name != "target" && name != ".git" && !path.is_symlink() {
                    self.read_folder(&path);
                }
            } else if let Ok(text) = fs::read_to_string(&path) {
                let path = path.strip_prefix(&self.root).unwrap_or(&path).to_string_lossy().into_owned();
                self.files.push(File { path, text });
            }
        }
    }

    fn find(&mut self, path: &str, line: usize, what: impl Display) {
        self.findings.push(format!("{path}:{line}: {what}"));
    }

    /// The paths of all files whose names end like this.
    fn ending(&self, end: &str) -> Vec<usize> {
        (0..self.files.len()).filter(|index| self.files[*index].path.ends_with(end)).collect()
    }

    fn text(&self, path: &str) -> Option<&str> {
        self.files.iter().find(|file| file.path == path).map(|file| file.text.as_str())
    }

    /// Looks at every line of the files whose names end like this; `judge` says what is wrong with a line.
    fn each_line(&mut self, ends: &[&str], judge: impl Fn(&str, &str) -> Option<String>) {
        let mut found = Vec::new();
        for file in self.files.iter().filter(|file| ends.iter().any(|end| file.path.ends_with(end))) {
            for (index, line) in file.text.lines().enumerate() {
                found.extend(judge(&file.path, line).map(|what| format!("{}:{}: {what}", file.path, index + 1)));
            }
        }
        self.findings.append(&mut found);
    }

    #[cfg(test)]
    fn of(files: &[(&str, &str)]) -> Self {
        let files = files.iter().map(|(path, text)| File { path: (*path).to_owned(), text: (*text).to_owned() });
        Self { root: PathBuf::from("."), files: files.collect(), findings: Vec::new() }
    }
}
