# Emacs visiting Python's library, replacing names in every file and keeping all of them open.
# Packages: emacs-nox libpython3.11-minimal libpython3.11-stdlib
cat > replace.el <<'LISP'
(require 'python)
(setq create-lockfiles nil auto-save-default nil make-backup-files nil vc-handled-backends nil)
(dolist (file (sort (directory-files-recursively "/usr/lib/python3.11" "\\.py\\'") #'string<))
  (with-current-buffer (find-file-noselect file)
    (setq buffer-read-only nil)
    (dolist (change '(("self" . "this_object") ("return" . "give_back") ("None" . "nil")))
      (goto-char (point-min))
      (perform-replace (car change) (cdr change) nil nil t))))
(princ (format "%d buffers\n" (length (buffer-list))))
LISP
$RECORD emacs-nox -Q --batch --load replace.el > counted 2> messages
