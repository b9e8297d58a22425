# Emacs visiting its own Lisp library, replacing words in every file and keeping all of them open.
# Packages: emacs-nox emacs-el
dpkg --listfiles emacs-el | grep '\.el\.gz$' | xargs cp --parents --target-directory .
gunzip --recursive usr
cat > replace.el <<'LISP'
(setq create-lockfiles nil auto-save-default nil make-backup-files nil vc-handled-backends nil)
(setq changes '(("defun" . "define-function") ("let" . "bind") ("setq" . "assign")
                ("the" . "that") ("if" . "when")))
(dolist (file (sort (directory-files-recursively "usr" "\\.el\\'") #'string<))
  (with-current-buffer (find-file-noselect file)
    (dolist (change changes)
      (goto-char (point-min))
      (perform-replace (car change) (cdr change) nil nil t))))
(princ (format "%d buffers\n" (length (buffer-list))))
LISP
$RECORD emacs-nox -Q --batch --load replace.el > counted 2> messages
