//! Where the code can be changed, and to what.

use crate::bodies::instead;
use crate::sources::is_compiled;
use std::ops::Range;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Block, Expr, Pat, Signature, UnOp};

/// How a change is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// At the beginning of a function, an early return.
    Return,
    /// Another expression.
    Replace,
    /// The guard of a match arm, which becomes `true` or `false`.
    Guard,
    /// After the pattern of a match arm, a guard that is false.
    Arm,
}

pub struct Mutant {
    /// As cargo-mutants names it, without file and line: `replace < with <= in whole_sets`.
    pub name: String,
    pub line: usize,
    pub form: Form,
    /// Of the code that is replaced; empty where something is inserted.
    pub span: Range<usize>,
    /// What is there instead.
    pub changed: String,
}

pub fn mutants(text: &str, file: &syn::File) -> Vec<Mutant> {
    let mut finder = Finder {
        text,
        within: Vec::new(),
        function: String::new(),
        found: Vec::new(),
    };
    finder.visit_file(file);
    finder.found
}

struct Finder<'a> {
    text: &'a str,
    /// Modules and types around.
    within: Vec<String>,
    /// With these; empty outside of functions that can be changed.
    function: String,
    found: Vec<Mutant>,
}

fn span_of(part: &impl Spanned) -> Range<usize> {
    part.span().byte_range()
}

/// What other operator stands for this one.
fn other_operators(op: &BinOp) -> &'static [&'static str] {
    match op {
        BinOp::Eq(_) => &["!="],
        BinOp::Ne(_) => &["=="],
        BinOp::Lt(_) => &["==", ">", "<="],
        BinOp::Gt(_) => &["==", "<", ">="],
        BinOp::Le(_) => &[">"],
        BinOp::Ge(_) => &["<"],
        BinOp::And(_) => &["||"],
        BinOp::Or(_) => &["&&"],
        BinOp::Add(_) => &["-", "*"],
        BinOp::Sub(_) => &["+", "/"],
        BinOp::Mul(_) => &["+", "/"],
        BinOp::Div(_) => &["%", "*"],
        BinOp::Rem(_) => &["/", "+"],
        BinOp::Shl(_) => &[">>"],
        BinOp::Shr(_) => &["<<"],
        BinOp::BitAnd(_) => &["|", "^"],
        BinOp::BitOr(_) => &["&", "^"],
        BinOp::BitXor(_) => &["|", "&"],
        BinOp::AddAssign(_) => &["-=", "*="],
        BinOp::SubAssign(_) => &["+=", "/="],
        BinOp::MulAssign(_) => &["+=", "/="],
        BinOp::DivAssign(_) => &["%=", "*="],
        BinOp::BitOrAssign(_) => &["&="],
        BinOp::BitAndAssign(_) => &["|="],
        BinOp::BitXorAssign(_) => &["|=", "&="],
        _ => &[],
    }
}

/// True if an `if let` chain needs this expression as it is.
fn has_let(expr: &Expr) -> bool {
    match expr {
        Expr::Let(_) => true,
        Expr::Binary(binary) => has_let(&binary.left) || has_let(&binary.right),
        _ => false,
    }
}

impl Finder<'_> {
    /// A part of the source in one line.
    fn words(&self, part: &impl Spanned) -> String {
        let text = &self.text[span_of(part)];
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn add(&mut self, name: String, part: &impl Spanned, form: Form, at: Range<usize>, to: String) {
        let name = match form {
            Form::Return => name,
            _ => format!("{name} in {}", self.function),
        };
        self.found.push(Mutant {
            name,
            line: part.span().start().line,
            form,
            span: at,
            changed: to,
        });
    }

    fn function(&mut self, attributes: &[syn::Attribute], signature: &Signature, block: &Block) {
        if !is_compiled(attributes) || signature.constness.is_some() {
            return;
        }
        let mut path = self.within.clone();
        path.push(signature.ident.to_string());
        let outer = std::mem::replace(&mut self.function, path.join("::"));
        let begin = block.brace_token.span.open().byte_range().end;
        let arrow = match &signature.output {
            syn::ReturnType::Default => String::new(),
            syn::ReturnType::Type(_, kind) => format!(" -> {}", self.words(kind)),
        };
        let whole = self.words(block);
        let empty = block.stmts.is_empty();
        for value in instead(&signature.output) {
            if !empty && whole != format!("{{ {value} }}") {
                let name = format!("replace {}{arrow} with {value}", self.function);
                self.add(name, &signature.ident, Form::Return, begin..begin, value);
            }
        }
        visit::visit_block(self, block);
        self.function = outer;
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.attrs, &item.sig, &item.block);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.attrs, &item.sig, &item.block);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.function(&item.attrs, &item.sig, block);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let kind = self.words(&item.self_ty);
        let name = match &item.trait_ {
            None => kind,
            Some((_, path, _))
                if path
                    .segments
                    .last()
                    .is_some_and(|last| last.ident == "Debug") =>
            {
                return;
            }
            Some((_, path, _)) => format!("<impl {} for {kind}>", self.words(path)),
        };
        if is_compiled(&item.attrs) {
            // An implementation within a function is named after the function, too.
            let function = std::mem::take(&mut self.function);
            let name = if function.is_empty() {
                name
            } else {
                format!("{function}::{name}")
            };
            let outer = if function.is_empty() {
                self.within.clone()
            } else {
                std::mem::take(&mut self.within)
            };
            self.within.push(name);
            visit::visit_item_impl(self, item);
            self.within.pop();
            self.within = outer;
            self.function = function;
        }
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        if is_compiled(&item.attrs) {
            self.within.push(item.ident.to_string());
            visit::visit_item_trait(self, item);
            self.within.pop();
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if is_compiled(&item.attrs) {
            self.within.push(item.ident.to_string());
            visit::visit_item_mod(self, item);
            self.within.pop();
        }
    }

    fn visit_expr_binary(&mut self, expr: &'ast syn::ExprBinary) {
        if is_compiled(&expr.attrs) && !has_let(&expr.left) && !has_let(&expr.right) {
            let (left, right) = (
                &self.text[span_of(&expr.left)],
                &self.text[span_of(&expr.right)],
            );
            for other in other_operators(&expr.op) {
                let changed = format!("({left}) {other} ({right})");
                let name = format!("replace {} with {other}", self.words(&expr.op));
                self.add(name, &expr.op, Form::Replace, span_of(expr), changed);
            }
        }
        visit::visit_expr_binary(self, expr);
    }

    fn visit_expr_unary(&mut self, expr: &'ast syn::ExprUnary) {
        let sign = match expr.op {
            UnOp::Not(_) => "!",
            UnOp::Neg(_) => "-",
            _ => "",
        };
        let number = matches!(*expr.expr, Expr::Lit(_));
        if !sign.is_empty() && !number {
            let changed = self.text[span_of(&expr.expr)].to_string();
            let name = format!("delete {sign}");
            self.add(name, &expr.op, Form::Replace, span_of(expr), changed);
        }
        visit::visit_expr_unary(self, expr);
    }

    fn visit_expr_match(&mut self, expr: &'ast syn::ExprMatch) {
        let rest = expr
            .arms
            .iter()
            .rposition(|arm| matches!(arm.pat, Pat::Wild(_)) && arm.guard.is_none());
        for (number, arm) in expr.arms.iter().enumerate() {
            if let Some((_, guard)) = &arm.guard {
                for value in ["true", "false"] {
                    let name = format!("replace match guard {} with {value}", self.words(guard));
                    self.add(name, guard, Form::Guard, span_of(guard), value.to_string());
                }
            } else if rest.is_some_and(|rest| number < rest) && is_compiled(&arm.attrs) {
                let name = format!("delete match arm {}", self.words(&arm.pat));
                let end = span_of(&arm.pat).end;
                self.add(name, &arm.pat, Form::Arm, end..end, String::new());
            }
        }
        visit::visit_expr_match(self, expr);
    }

    // What follows is computed when it is compiled, or has no code.
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}
    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}
    fn visit_type(&mut self, _: &'ast syn::Type) {}
    fn visit_pat(&mut self, _: &'ast Pat) {}
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}
    fn visit_generic_argument(&mut self, _: &'ast syn::GenericArgument) {}
    fn visit_item_enum(&mut self, _: &'ast syn::ItemEnum) {}

    fn visit_expr_repeat(&mut self, expr: &'ast syn::ExprRepeat) {
        self.visit_expr(&expr.expr);
    }
}
